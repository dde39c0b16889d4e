import { useEffect, useRef, useState } from "preact/hooks";

import { displayValue, flagGap, hasVisibleText, takesAnswer, type Step } from "../../core";
import { Icon } from "../../kit/controls/icon";
import { Message } from "../../kit/controls/messages";
import { PhotoPicture } from "../../kit/controls/photo_picture";
import { SignatureControl } from "../../kit/controls/signature";
import { problemText } from "../../kit/i18n";
import { t, translator } from "../../kit/language";
import { allReady } from "../../kit/photos/intake";
import { isKept, useApp } from "../context";
import { signerOf } from "../signer";
import { isRefused, withoutRefused } from "../store/refused_photos";
import type { LocalAnswer, ServerRun } from "../store/types";
import { words } from "./display_text";
import { ErrorSummary } from "./error_summary";
import { Notices } from "./notices";
import { Footer, Heading } from "./screen";
import { openPart } from "./step_state";
import { SyncNews, SyncPill } from "./sync_pill";

/** The review: all answers, the signature, and the submit button. */
export function Review({ run }: { run: ServerRun }) {
  const { store, page } = useApp();
  const { template } = run;
  const steps = new Map(template.sections.flatMap((section) => section.steps).map((step) => [step.id, step]));
  const name = page.signer.value;
  const [unsigned, setUnsigned] = useState(false);
  const [tries, setTries] = useState(0);
  const summary = useRef<HTMLDivElement>(null);
  const settle = useRef(async () => {});
  const gaps = page.gaps.value;
  const refusals = store.refusals.value;
  const signs = template.settings.signature_on_complete;
  useEffect(() => page.setReviewed(), []);
  useEffect(() => {
    // The first problem, so that each attempt leads somewhere: its name, after that of the group.
    if (tries > 0 || refusals.length > 0) (summary.current?.querySelector("button") ?? summary.current)?.focus();
  }, [tries, refusals]);

  const change = (stepId: string) => {
    store.review(false);
    page.goTo(stepId);
  };
  const toSignature = () => document.getElementById("signature")?.focus();
  const submit = async (event: Event) => {
    event.preventDefault();
    await settle.current();
    // A photo that is still being resized belongs to the submitted answers.
    await allReady();
    const nameMissing = signs && !hasVisibleText(name);
    setUnsigned(nameMissing);
    page.setTried(true);
    if (page.gaps.peek().length > 0 || nameMissing) return setTries(tries + 1);
    await isKept(store.submit(signs ? { name: name.trim() } : null));
  };

  const nameWrong = unsigned || refusals.some((problem) => problem.path.startsWith("signature"));
  const items = [
    ...gaps.map((id) => ({ key: id, text: steps.get(id)?.label ?? id, onGo: () => change(id) })),
    ...(nameWrong ? [{ key: "signature", text: t("problem.signature"), onGo: toSignature }] : []),
  ];
  const onlyMissing = gaps.length > 0 && gaps.every((id) => store.missing.value.includes(id));
  return (
    <>
      <header class="status-bar">
        <div class="status-row">
          <button type="button" class="button button-quiet back" onClick={() => store.review(false)}>
            <Icon name="back" />
            {t("review.back")}
          </button>
          <SyncPill />
        </div>
      </header>
      <main id="content" class="checklist review">
        <p class="about" dir="auto">
          {template.name}
        </p>
        <Heading>{t("review.title")}</Heading>
        <Notices />
        {items.length > 0 && (
          <ErrorSummary
            focus={summary}
            items={items}
            title={onlyMissing ? t("review.missing_title", { count: gaps.length }) : t("problem.summary", { count: items.length })}
          />
        )}
        {template.sections.map((section) => (
          <ReviewSection key={section.id} title={section.title} steps={section.steps} onChange={change} />
        ))}
        <form class="form" noValidate onSubmit={(event) => void submit(event)}>
          {signs && (
            <section class="panel sign" aria-labelledby="sign-title">
              <h2 id="sign-title">{t("signature.title")}</h2>
              <p class="quiet">{t("review.sign_text")}</p>
              <SignatureControl
                id="signature"
                name={name}
                signer={signerOf(run)}
                required
                drawing={store.signatureDrawing.value}
                error={nameWrong ? t("problem.signature") : null}
                onName={(next) => {
                  page.signer.value = next;
                  if (hasVisibleText(next)) setUnsigned(false);
                }}
                onDraw={async (drawing) => void (await isKept(store.drawSignature(drawing)))}
                settle={settle}
              />
            </section>
          )}
          <Message tone="info">
            <p>{t("review.text")}</p>
          </Message>
          <div class="next-bar">
            <div class="next-row">
              <button type="submit" class="button button-primary button-wide">
                {t("review.submit")}
              </button>
            </div>
          </div>
        </form>
      </main>
      <Footer />
      <SyncNews />
    </>
  );
}

interface ReviewSectionProps {
  title: string;
  steps: readonly Step[];
  onChange(stepId: string): void;
}

function ReviewSection({ title, steps, onChange }: ReviewSectionProps) {
  const { store, page } = useApp();
  const answers = store.answers.value;
  const shown = steps.filter((step) => takesAnswer(step) && store.applicable.value.has(step.id));
  if (shown.length === 0) return null;
  const gaps = new Set(page.gaps.value);
  return (
    <section class="group">
      <h2 dir="auto">{title}</h2>
      <dl class="answers panel">
        {shown.map((step) => (
          <div key={step.id} class={gaps.has(step.id) ? "row is-gap" : "row"}>
            <dt dir="auto">{step.label}</dt>
            <dd>
              <Given step={step} answer={answers.get(step.id)} isGap={gaps.has(step.id)} />
            </dd>
            <dd class="row-action">
              <button type="button" class="button button-quiet" aria-label={t("review.change_label", { label: step.label })} onClick={() => onChange(step.id)}>
                {t("app.change")}
              </button>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function gapText(step: Step, answer: LocalAnswer | undefined, text: string, photos: LocalAnswer["photos"]): string {
  const gap = openPart(step, answer);
  const problem = photos.find(isRefused)?.problem ?? (gap?.path === "signature" ? gap : null);
  if (problem) return problemText(translator.value, problem);
  return t(text === "" && photos.length === 0 ? "review.not_answered" : "checklist.not_kept");
}

function Given({ step, answer, isGap }: { step: Step; answer: LocalAnswer | undefined; isGap: boolean }) {
  const text = answer === undefined || answer.skipped ? "" : displayValue(step, answer.value, words());
  const photos = answer?.skipped ? [] : (answer?.photos ?? []);
  const flagged = answer !== undefined && !answer.skipped && answer.flagged;
  const lacking = flagged && !photos.some(isRefused) ? flagGap(step, withoutRefused(answer)) : null;
  return (
    <>
      {text !== "" && (
        <p class="prose given" dir="auto">
          {text}
        </p>
      )}
      {flagged && (
        <p class="flag">
          <Icon name="flag" />
          <span>{t("flag.title")}</span>
        </p>
      )}
      {flagged && answer.note !== null && (
        <p class="prose small" dir="auto">
          {answer.note}
        </p>
      )}
      {answer?.geo && <p class="quiet small">{t("geo.added")}</p>}
      {photos.length > 0 && (
        <ul class="mini">
          {photos.map((photo, index) => (
            <li key={photo.key}>
              <PhotoPicture
                sources={[photo.thumbnailUrl, photo.served?.thumbnailUrl]}
                alt={t("photo.name", { number: index + 1 })}
              />
            </li>
          ))}
        </ul>
      )}
      {isGap ? (
        <p class="error">
          <Icon name="alert" />
          <span>{lacking === null ? gapText(step, answer, text, photos) : problemText(translator.value, lacking)}</span>
        </p>
      ) : (
        text === "" && photos.length === 0 && <p class="quiet">{t(answer?.skipped ? "checklist.skipped" : "review.not_answered")}</p>
      )}
    </>
  );
}
