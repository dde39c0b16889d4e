import { useSignalEffect } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { BackContext, BackStack, useLayer } from "../kit/back";
import { t } from "../kit/language";
import { AppContext, type App as AppValue, useApp } from "./context";
import type { ServerRun } from "./store/types";
import { Checklist } from "./views/checklist";
import { Cancelled, Expired, NotFound, OfflineFirst, Unreachable } from "./views/closed";
import { Done } from "./views/done";
import { Identity } from "./views/identity";
import { Loading } from "./views/loading";
import { Assigned, NotMember, SignIn } from "./views/members";
import { OneAtATime } from "./views/one_at_a_time";
import { PreviewOnly } from "./views/preview";
import { Queued } from "./views/queued";
import { Review } from "./views/review";

/** The page: one view per phase of the run, and one live region for all announcements. */
export function App({ store, page }: AppValue) {
  useSignalEffect(() => {
    const name = store.run.value?.template.name ?? store.preview.value?.template_name;
    document.title = name === undefined ? t("app.name") : t("app.title", { name });
  });
  const back = useMemo(() => new BackStack(window, (name) => (name === REVIEW ? reopenReview(store) : name === STEP && page.walk.next())), [store, page]);
  useEffect(() => () => back.end(), [back]);
  return (
    <AppContext.Provider value={{ store, page }}>
      <BackContext.Provider value={back}>
        <View store={store} />
        <LiveRegion page={page} />
      </BackContext.Provider>
    </AppContext.Provider>
  );
}

function View({ store }: Pick<AppValue, "store">) {
  const phase = store.phase.value;
  const run = store.run.value;
  switch (phase) {
    case "loading":
      return <Loading />;
    case "preview":
      return <PreviewOnly />;
    case "identity":
      return <Identity />;
    case "checklist":
    case "review":
      return run === null ? <Loading /> : <Open run={run} reviewing={phase === "review"} store={store} />;
    case "done":
      return run === null ? <Loading /> : <Done run={run} />;
    case "cancelled":
      return <Cancelled />;
    case "expired":
      return <Expired />;
    case "not_found":
      return <NotFound />;
    case "offline_first":
      return <OfflineFirst />;
    case "unreachable":
      return <Unreachable />;
    case "sign_in":
      return <SignIn />;
    case "not_member":
      return <NotMember />;
    case "assigned":
      return <Assigned />;
  }
}

function Open({ run, reviewing, store }: { run: ServerRun; reviewing: boolean; store: AppValue["store"] }) {
  if (store.submitQueued.value || store.cancelQueued.value) return <Queued run={run} />;
  return (
    <>
      <StepLayers />
      {reviewing ? <ReviewLayer run={run} store={store} /> : <Steps run={run} />}
    </>
  );
}

const REVIEW = "review";
const STEP = "step";

function Steps({ run }: { run: ServerRun }) {
  const { page } = useApp();
  return page.walk.layout.value === "list" ? <Checklist run={run} /> : <OneAtATime run={run} />;
}

/** One step at a time: the browser's Back shows the previous step, and Forward the next one. */
function StepLayers() {
  const { page } = useApp();
  const count = page.walk.depth.value;
  return (
    <>
      {Array.from({ length: count }, (_, index) => (
        <StepLayer key={index} below={index} />
      ))}
    </>
  );
}

function StepLayer({ below }: { below: number }) {
  const { page } = useApp();
  useLayer(STEP, () => page.walk.backTo(below));
  return null;
}

/** The review lies on top of the checklist: the browser's Back returns to it, and Forward opens the review again. */
function ReviewLayer({ run, store }: { run: ServerRun; store: AppValue["store"] }) {
  useLayer(REVIEW, () => store.review(false));
  return <Review run={run} />;
}

function reopenReview(store: AppValue["store"]): boolean {
  if (store.phase.peek() !== "checklist") return false;
  store.review(true);
  return true;
}

function LiveRegion({ page }: Pick<AppValue, "page">) {
  return (
    <p class="vh" role="status" aria-live="polite">
      {page.announcement.value}
    </p>
  );
}
