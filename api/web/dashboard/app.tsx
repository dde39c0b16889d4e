import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentType } from "preact";

import { ApiError } from "./client";
import { PAGES, pageAt, type PageEntry, type PageProps } from "./pages";
import { CommandToCopy } from "./parts/copy";
import { PageHead } from "./parts/page_head";
import { Failure, Loading, NoPermission } from "./parts/states";
import { navigate, path } from "./router";
import { loadSession, may, organization, session, state } from "./session";
import { Shell } from "./shell";
import { afterSignIn, DONE, hasLink, SIGN_IN, SignedInElsewhere, SignIn, wantsOther } from "./sign_in";

const LAST_ORGANIZATION = "checklists.organization";
const ACCOUNT: PageEntry = {
  path: "account",
  title: "Your account",
  role: "viewer",
  section: null,
  load: () => import("./pages/account").then((page) => page.AccountPage),
};

export function App() {
  const now = state.value;
  if (now.kind === "loading") {
    return (
      <main id="content" class="alone" aria-busy="true">
        <h1 class="vh">Checklist Dispatch</h1>
        <Loading what="the dashboard" />
      </main>
    );
  }
  if (now.kind === "failed") {
    return (
      <main id="content" class="alone">
        <h1>The dashboard cannot be loaded</h1>
        <Failure error={now.error} onRetry={() => void loadSession()} />
      </main>
    );
  }
  if (now.kind === "none" || hasLink() || wantsOther()) return <SignIn />;
  if (path.value === DONE) return <SignedInElsewhere />;
  return (
    <Shell>
      <Content />
    </Shell>
  );
}

function Content() {
  const [first = "", ...rest] = path.value.split("/");
  const all = session.value?.organizations ?? [];
  const own = organization.value;
  const home = PAGES[0];
  const to = first === "" ? (all.find((one) => one.id === lastOrganization()) ?? all[0]) : rest.length === 0 ? own : undefined;
  useEffect(() => {
    if (to && home) navigate(`${to.id}/${home.path}`, { replace: true });
  }, [to?.id, home]);
  const allowed = useRef<string | null>(null);
  useEffect(() => {
    if (first === SIGN_IN) afterSignIn();
  }, [first]);
  useEffect(() => {
    if (own !== null) keepOrganization(own.id);
  }, [own?.id]);
  if (first === SIGN_IN) return null;
  if (path.value === "account") return <LoadedPage key="account" entry={ACCOUNT} params={{}} />;
  if (all.length === 0) return <NoOrganization />;
  if (to && home) return null;
  const found = own === null ? null : pageAt(rest.join("/"));
  if (found === null) return <NothingHere />;
  if (may(found.entry.role)) allowed.current = path.value;
  // A page stays open when the person loses their role, so that unsaved input is not lost.
  if (allowed.current !== path.value) {
    return (
      <>
        <PageHead title={found.entry.title} />
        <NoPermission needs={found.entry.role} />
      </>
    );
  }
  return <LoadedPage key={path.value} entry={found.entry} params={found.params} />;
}

function NothingHere() {
  return (
    <>
      <PageHead title="Page not found" />
      <p>The link may be incomplete, the page may have been removed, or it belongs to an organization that you are not a member of.</p>
    </>
  );
}

function NoOrganization() {
  return (
    <>
      <PageHead title="You are not a member of an organization" />
      <div class="prose-block">
        <p>You are signed in as {session.value?.email}. Ask an administrator to invite exactly this e-mail address:</p>
        <CommandToCopy command={session.value?.email ?? ""} label="Copy the e-mail address" />
        <p>
          <button type="button" class="button button-primary" onClick={() => void loadSession()}>
            Look again
          </button>
        </p>
      </div>
    </>
  );
}

/** Pages that are loaded already, shown without delay. */
const loadedPages = new Map<PageEntry, ComponentType<PageProps>>();

function LoadedPage({ entry, params }: { entry: PageEntry } & PageProps) {
  const [Page, setPage] = useState<ComponentType<PageProps> | null>(() => loadedPages.get(entry) ?? null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (loadedPages.has(entry)) return;
    entry.load().then(
      (loaded) => {
        loadedPages.set(entry, loaded);
        setPage(() => loaded);
      },
      () => setFailed(true),
    );
  }, [entry]);
  if (failed) {
    // The old page chunks no longer exist after an update of the service.
    const error = new ApiError(0, "unreachable", "This part of the dashboard could not be loaded. The service may have been updated.");
    return (
      <>
        <PageHead title={entry.title} />
        <Failure error={error} onRetry={() => location.reload()} />
      </>
    );
  }
  return Page === null ? <Loading what={entry.title.toLowerCase()} /> : <Page params={params} />;
}

function lastOrganization(): string | null {
  try {
    return localStorage.getItem(LAST_ORGANIZATION);
  } catch {
    return null;
  }
}

function keepOrganization(id: string): void {
  try {
    localStorage.setItem(LAST_ORGANIZATION, id);
  } catch {
    // Without storage, the first organization is shown.
  }
}
