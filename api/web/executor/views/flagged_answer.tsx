import { useEffect, useRef } from "preact/hooks";

import { expectedText, dateOf, localTimestamp, onFlag, type Step } from "../../core";
import { Message } from "../../kit/controls/messages";
import { NoteControl } from "../../kit/controls/note";
import { t } from "../../kit/language";
import type { Answering } from "../answering";
import { useApp } from "../context";
import type { LocalAnswer } from "../store/types";
import { words } from "./display_text";

interface FlaggedAnswerProps {
  step: Step;
  answer: LocalAnswer | undefined;
  answering: Answering;
  /** The id of the error text, if the note is missing. */
  errorId: string | false;
  onTyping(typing: boolean): void;
}

/** Says that the answer is outside what is expected, once it is given, and asks for a note if the step does. */
export function FlaggedAnswer({ step, answer, answering, errorId, onTyping }: FlaggedAnswerProps) {
  const { store, page } = useApp();
  const flagged = answer !== undefined && !answer.skipped && answer.flagged && answering.problem === null;
  const expected = flagged ? expectedText(step, { words: words(), t, today: dateOf(localTimestamp(store.now())) }) : "";
  const was = useRef(flagged);
  useEffect(() => {
    if (flagged && !was.current) page.announce(t("flag.title"));
    was.current = flagged;
  }, [flagged]);
  if (!flagged) return null;
  return (
    <>
      <Message tone="info" icon="flag" title={t("flag.title")}>
        {expected !== "" && <p dir="auto">{t("flag.expected", { expected })}</p>}
      </Message>
      {(onFlag(step)?.note || answer.note !== null) && (
        <NoteControl
          id={`${step.id}-note`}
          question={step.label}
          note={answer.note ?? ""}
          required={onFlag(step)?.note ?? false}
          errorId={errorId}
          onChange={answering.keepNote}
          onTyping={onTyping}
        />
      )}
    </>
  );
}
