import { useEffect, useRef, useState } from "preact/hooks";

import { lengthOf } from "../../../core";
import { ApiError } from "../../client";
import { SelectField, TextAreaField, focusFirstProblem, problemOf } from "../../parts/fields";
import { Progress } from "../../parts/progress";
import { Failure } from "../../parts/states";
import { generateTemplate, type Generated } from "./templates_api";

const SHORTEST = 4;
const LONGEST = 4_000;
const LANGUAGES = [
  { value: "", title: "As in the description" },
  { value: "en", title: "English" },
  { value: "de", title: "German" },
  { value: "es", title: "Spanish" },
  { value: "fr", title: "French" },
];

interface GenerateFormProps {
  org: string;
  /** The previous result, whose prompt is to be changed. */
  last: Generated | null;
  onGenerated(made: Generated): void;
}

/** Generates a template from a description. Nothing is stored. */
export function GenerateForm({ org, last, onGenerated }: GenerateFormProps) {
  const [prompt, setPrompt] = useState(last?.prompt ?? "");
  const [locale, setLocale] = useState(last?.locale ?? "");
  const [tried, setTried] = useState(false);
  const [seconds, setSeconds] = useState<number | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const running = useRef<AbortController | null>(null);
  const focusPrompt = () => form.current?.querySelector("textarea")?.focus();
  useEffect(() => {
    if (last !== null) focusPrompt();
    return () => running.current?.abort();
  }, []);
  useEffect(() => {
    if (seconds === null) return;
    const timer = setTimeout(() => setSeconds(seconds + 1), 1_000);
    return () => clearTimeout(timer);
  }, [seconds]);

  const length = lengthOf(prompt.trim());
  const over = lengthOf(prompt) > LONGEST;
  const short = length < SHORTEST;
  const closest = error?.problems.filter(({ code }) => code === "closest_job") ?? [];
  const problem = over ? `At most ${LONGEST.toLocaleString("en")} characters; this has ${lengthOf(prompt).toLocaleString("en")}.` : tried && short ? `Describe it in at least ${SHORTEST} characters.` : (!closest.length && problemOf(error, "prompt")) || undefined;
  const generate = async (event: Event) => {
    event.preventDefault();
    if (seconds !== null) return;
    setTried(true);
    if (short || over) return focusFirstProblem(form.current);
    const aborter = new AbortController();
    running.current = aborter;
    setError(null);
    setSeconds(0);
    try {
      onGenerated(await generateTemplate(org, prompt, locale, aborter.signal));
    } catch (failure) {
      if (aborter.signal.aborted) return;
      if (!(failure instanceof ApiError)) throw failure;
      setError(failure);
    } finally {
      setSeconds(null);
    }
  };
  const stop = () => {
    running.current?.abort();
    setSeconds(null);
    focusPrompt();
  };
  const takeJob = (job: string) => {
    setPrompt(job);
    setError(null);
    focusPrompt();
  };
  return (
    <form ref={form} class="form generate" onSubmit={(event) => void generate(event)} noValidate>
      <TextAreaField
        name="prompt"
        label="What should be checked?"
        hint="For example: Daily fridge check. Is the fridge below 5 °C? If not, what was done, with a photo. Signature of the shift lead."
        rows={6}
        value={prompt}
        error={problem}
        onInput={setPrompt}
      />
      <p class="quiet small tabular">
        {lengthOf(prompt).toLocaleString("en")} of {LONGEST.toLocaleString("en")} characters
      </p>
      <SelectField name="locale" label="Language of the template" value={locale} options={LANGUAGES} onChange={setLocale} />
      <p class="quiet small">
        To use a language model, an operator of this service sets <code>CHECKLISTS_MODEL_URL</code>; without one, or when it fails, the built-in composer answers.
      </p>
      {error && problem === undefined && <Failure error={error} />}
      {closest.length > 0 && (
        <div class="closest" role="group" aria-label="Closest checklists of the library">
          <p>These checklists of the library are the closest. Choose one as the description:</p>
          <div class="actions">
            {closest.map(({ message }) => (
              <button key={message} type="button" class="button" dir="auto" onClick={() => takeJob(message)}>
                {message}
              </button>
            ))}
          </div>
        </div>
      )}
      {seconds !== null && <Progress label="Generating the template" value={seconds} max={null} text={seconds < 2 ? "" : `${seconds} s`} />}
      <div class="actions">
        <button type="submit" class="button button-primary" aria-disabled={seconds !== null}>
          {seconds !== null && <span class="spinner" />}
          Generate
        </button>
        {seconds !== null && (
          <button type="button" class="button" onClick={stop}>
            Stop
          </button>
        )}
      </div>
    </form>
  );
}
