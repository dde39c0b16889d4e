/**
 * The template as JSON. Valid input becomes the draft as it is typed; invalid input is kept with its error position.
 * The service's problems are shown at their lines.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { lineOf, pathOf, readJson, shapeFault, type Draft } from "../../../core/authoring";
import { Icon } from "../../../kit/controls/icon";
import { CopyButton } from "../../parts/copy";
import type { EditorState } from "./editor_state";

interface Mark {
  readonly line: number;
  readonly path: string;
  readonly message: string;
}

const READ_AFTER_MS = 200;

export function JsonView({ editor }: { editor: EditorState }) {
  const draft = editor.draft.value;
  const [text, setText] = useState(() => editor.text.peek() ?? written(draft));
  /** The draft of the text; a new draft (undo, saving) replaces the text. */
  const own = useRef<Draft>(draft);
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const pending = useRef<ReturnType<typeof setTimeout>>(undefined);
  const waiting = useRef<string | null>(null);

  useEffect(() => {
    if (own.current === draft) return;
    own.current = draft;
    if (editor.text.peek() === null) setText(written(draft));
  }, [draft]);
  const flush = () => {
    clearTimeout(pending.current);
    if (waiting.current === null) return;
    const next = waiting.current;
    waiting.current = null;
    editor.write(next);
    own.current = editor.draft.peek();
  };
  useEffect(() => {
    editor.flush = flush;
    return () => {
      flush();
      editor.flush = () => undefined;
    };
  }, []);

  const read = useMemo(() => readJson(text), [text]);
  const marks = useMemo((): Mark[] => {
    if (!read.ok) return [{ line: read.line, path: `line ${read.line}, column ${read.column}`, message: read.message }];
    const fault = shapeFault(read.value);
    return [
      ...(fault ? [{ ...fault, line: lineOf(read.lines, fault.path) }] : []),
      ...editor.problems.value.map((problem) => {
        const path = pathOf(problem, draft);
        return { line: lineOf(read.lines, path), path, message: problem.message };
      }),
    ];
  }, [read, editor.problems.value, draft]);
  const count = useMemo(() => text.split("\n").length, [text]);
  const marked = useMemo(() => new Map(marks.map((mark) => [mark.line, mark.message])), [marks]);

  const onInput = (event: Event & { currentTarget: HTMLTextAreaElement }) => {
    const next = event.currentTarget.value;
    setText(next);
    waiting.current = next;
    clearTimeout(pending.current);
    pending.current = setTimeout(flush, READ_AFTER_MS);
  };
  const jump = (line: number) => {
    const field = area.current;
    if (field === null) return;
    const lines = text.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    field.focus();
    field.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    const height = field.scrollHeight / Math.max(1, lines.length);
    field.scrollTop = Math.max(0, (line - 5) * height);
  };
  const follow = () => {
    if (area.current && gutter.current) gutter.current.scrollTop = area.current.scrollTop;
  };

  return (
    <div class="json-view">
      <div class="json-head">
        <p class="quiet small">Unknown fields are kept in a step’s <code>config</code> only; elsewhere they are removed when you save.</p>
        <CopyButton text={text} label="Copy the JSON" labelled />
      </div>
      {marks.length > 0 && (
        <section class="message is-bad" aria-label="Problems">
          <Icon name="alert" />
          <div class="message-text" role="status">
            <p class="message-title">{marks.length === 1 ? "1 problem" : `${marks.length} problems`}</p>
            <ul class="json-marks">
              {marks.map((mark, index) => (
                <li key={index}>
                  <button type="button" class="link-button" onClick={() => jump(mark.line)}>
                    Line {mark.line}
                  </button>{" "}
                  <code>{mark.path}</code> {mark.message}
                </li>
              ))}
            </ul>
          </div>
        </section>
      )}
      <div class="json-frame">
        <div ref={gutter} class="json-gutter" aria-hidden="true">
          <Numbers count={count} marked={marked} />
        </div>
        <textarea
          ref={area}
          class="json-text mono"
          aria-label="The template as JSON"
          aria-invalid={marks.length > 0}
          wrap="off"
          spellcheck={false}
          autocomplete="off"
          readOnly={editor.readOnly.value}
          value={text}
          onInput={onInput}
          onScroll={follow}
          onBlur={flush}
        />
      </div>
    </div>
  );
}

function Numbers({ count, marked }: { count: number; marked: ReadonlyMap<number, string> }) {
  return (
    <>
      {Array.from({ length: count }, (_, index) => (
        <div key={index} class={marked.has(index + 1) ? "json-number is-wrong" : "json-number"} title={marked.get(index + 1)}>
          {index + 1}
        </div>
      ))}
    </>
  );
}

function written(draft: Draft): string {
  return JSON.stringify(draft, null, 2);
}
