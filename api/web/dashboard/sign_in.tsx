/**
 * The sign-in page: identity provider, password, or one-time link.
 *
 * A link is redeemed by a button, not by opening it: mail scanners open links, some of them in a full browser, and
 * would use it up. It is removed from the address bar at once, so that it is in no history.
 */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

import { ApiError } from "./client";
import { useResource } from "./parts/resource";
import { Failure, Loading } from "./parts/states";
import { PasswordSignIn } from "./password_sign_in";
import { BASE, navigate, path, query } from "./router";
import { loadSession, session } from "./session";
import { askWays, CLOSES, providerAddress, redeemLink, returnPath } from "./sign_in_ways";

const LINK = "link";
export const SIGN_IN = "sign-in";
export const DONE = "sign-in/done";

/** The secret of the link that opened this page. */
const givenLink = signal<string | null>(takeLink());
addEventListener("hashchange", () => {
  givenLink.value = takeLink() ?? givenLink.value;
});

/** Whether the page was opened with a link, even if a person is signed in already. */
export function hasLink(): boolean {
  return givenLink.value !== null && path.value === SIGN_IN;
}

function takeLink(): string | null {
  const secret = new URLSearchParams(location.hash.slice(1)).get(LINK);
  if (secret !== null) history.replaceState(history.state, "", location.pathname + location.search);
  return secret;
}

/** Whether a signed-in person wants to switch accounts. */
export function wantsOther(): boolean {
  return path.value === SIGN_IN && query.value.get("as") === "other";
}

/** The destination after signing in on the page `sign-in`; on any other page the person stays there. */
export function afterSignIn(): void {
  if (path.peek() !== SIGN_IN) return;
  const away = returnPath(query.peek());
  if (away !== null) location.replace(away);
  else navigate(query.peek().get("next") === DONE ? DONE : "", { replace: true });
}

/** A session was created; `choose`: a password must be set first. */
async function finish(choose: boolean): Promise<void> {
  const goOn = () => {
    const back = query.peek().get("return_to");
    if (choose) navigate(`account?password=choose${back === null ? "" : `&return_to=${encodeURIComponent(back)}`}`, { replace: true });
    else afterSignIn();
    givenLink.value = null;
  };
  // If another person was signed in, the page is reloaded at its destination.
  const before = session.peek() !== null;
  if (before) goOn();
  await loadSession();
  if (!before) goOn();
}

export function SignIn() {
  const [linkGone, setLinkGone] = useState(false);
  useEffect(() => {
    document.title = "Sign in · Checklist Dispatch";
  }, []);
  const secret = givenLink.value;
  return (
    <main id="content" class="alone">
      <p class="quiet">Checklist Dispatch</p>
      <h1>Sign in</h1>
      {secret !== null && path.value === SIGN_IN && !linkGone ? <WithLink key={secret} secret={secret} onElse={() => setLinkGone(true)} /> : <OtherWays />}
    </main>
  );
}

function WithLink({ secret, onElse }: { secret: string; onElse: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const redeem = async () => {
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await finish(await redeemLink(secret));
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const dead = error?.code === "link_not_valid";
  return (
    <>
      {!dead && <p>You have opened a one-time link. It signs you in on this device, once.</p>}
      {error && <Failure error={error} />}
      {dead ? (
        <p>Ask the sender for a new link, or sign in another way.</p>
      ) : (
        <button type="button" class="button button-primary button-wide" aria-disabled={busy} onClick={() => void redeem()}>
          {busy && <span class="spinner" />}
          Sign in with this link
        </button>
      )}
      <button type="button" class="button button-wide" onClick={onElse}>
        Sign in another way
      </button>
    </>
  );
}

function OtherWays() {
  const ways = useResource("ways", askWays);
  if (ways.error) return <Failure error={ways.error} onRetry={ways.reload} />;
  if (ways.data === null) return <Loading what="the ways to sign in" />;
  const { oidc, local } = ways.data;
  const who = session.value;
  return (
    <>
      {who && (
        <p>
          You are signed in as <strong>{who.email}</strong>. Signing in with another account signs you out.
        </p>
      )}
      {oidc && (
        <a class="button button-primary button-wide" href={providerAddress(wayBack())}>
          Sign in with {oidc.name}
        </a>
      )}
      {oidc && local && <p class="or quiet">or</p>}
      {local && <PasswordSignIn primary={oidc === null} onSignedIn={() => finish(false)} />}
      {local && <p class="quiet small">If you have a sign-in link, open it in this browser. If you have forgotten your password, ask your administrator for a link.</p>}
    </>
  );
}

/** The return address for the provider. */
function wayBack(): string {
  if (path.value !== SIGN_IN) return location.pathname + location.search;
  return returnPath(query.value) ?? new URL(query.value.get("next") === DONE ? DONE : "./", BASE).pathname;
}

/** The end of a sign-in in its own tab; the first tab has been notified. */
export function SignedInElsewhere() {
  useEffect(() => {
    document.title = "Signed in · Checklist Dispatch";
    if (sessionStorage.getItem(CLOSES) !== null) close();
  }, []);
  return (
    <main id="content" class="alone">
      <h1>You are signed in</h1>
      <p>You can close this tab and continue in the other one.</p>
    </main>
  );
}
