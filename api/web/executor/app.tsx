import { useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { t } from "../kit/language";
import { AppContext, type App as AppValue } from "./context";
import type { ServerRun } from "./store/types";
import { Checklist } from "./views/checklist";
import { Cancelled, Expired, NotFound, OfflineFirst, Unreachable } from "./views/closed";
import { Done } from "./views/done";
import { Identity } from "./views/identity";
import { Loading } from "./views/loading";
import { Assigned, NotMember, SignIn } from "./views/members";
import { PreviewOnly } from "./views/preview";
import { Queued } from "./views/queued";
import { Review } from "./views/review";

/** The page: one view per phase of the run, and one live region for all announcements. */
export function App({ store, page }: AppValue) {
  useSignalEffect(() => {
    const name = store.run.value?.template.name ?? store.preview.value?.template_name;
    document.title = name === undefined ? t("app.name") : t("app.title", { name });
  });
  useBackFromReview({ store, page });
  return (
    <AppContext.Provider value={{ store, page }}>
      <View store={store} />
      <LiveRegion page={page} />
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
  return reviewing ? <Review run={run} /> : <Checklist run={run} />;
}

function LiveRegion({ page }: Pick<AppValue, "page">) {
  return (
    <p class="vh" role="status" aria-live="polite">
      {page.announcement.value}
    </p>
  );
}

/** Browser history between checklist and review. The address does not change. */
function useBackFromReview({ store }: AppValue): void {
  useEffect(() => {
    const onMove = () => store.review(isMarked());
    window.addEventListener("popstate", onMove);
    return () => window.removeEventListener("popstate", onMove);
  }, []);
  useSignalEffect(() => {
    const inReview = store.phase.value === "review";
    if (inReview && !isMarked()) history.pushState({ review: true }, "");
    else if (!inReview && isMarked()) history.back();
  });
}

function isMarked(): boolean {
  return (history.state as { review?: boolean } | null)?.review === true;
}
