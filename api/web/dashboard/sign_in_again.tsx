/** The session has ended: a dialog over the unchanged page asks to sign in again. */
import { useEffect, useState } from "preact/hooks";

import { Icon } from "../kit/controls/icon";
import { Dialog } from "../kit/controls/dialog";
import { refusals } from "./client";
import { useResource } from "./parts/resource";
import { Failure, Loading } from "./parts/states";
import { PasswordSignIn } from "./password_sign_in";
import { BASE } from "./router";
import { forget, loadSession, session } from "./session";
import { DONE } from "./sign_in";
import { askWays, CLOSES, providerAddress } from "./sign_in_ways";

export function SignInAgain() {
  /** The errors for which the person has closed the dialog. */
  const [aside, setAside] = useState(0);
  useEffect(() => {
    // They may have signed in in another tab.
    const look = () => {
      if (document.visibilityState === "visible") void loadSession();
    };
    addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  if (aside >= refusals.value) {
    return (
      <div class="session-ended message is-warn" role="status">
        <Icon name="clock" />
        <p>Your session has ended. Your input is not saved yet.</p>
        <button type="button" class="button" onClick={() => setAside(0)}>
          Sign in again
        </button>
      </div>
    );
  }
  return (
    <Dialog title="Your session has ended" onClose={() => setAside(refusals.peek())}>
      <p>
        Sign in again as <strong>{session.value?.email}</strong> to continue. Your input is still here.
      </p>
      <Ways />
      <button type="button" class="button button-quiet is-bad" onClick={forget}>
        Leave without saving
      </button>
    </Dialog>
  );
}

function Ways() {
  const ways = useResource("ways", askWays);
  const who = session.value;
  if (ways.error) return <Failure error={ways.error} onRetry={ways.reload} />;
  if (ways.data === null || who === null) return <Loading what="the ways to sign in" />;
  const { oidc, local } = ways.data;
  const openProvider = () => openInTab(providerAddress(new URL(DONE, BASE).pathname));
  return (
    <>
      {oidc && (
        <button type="button" class={who.method === "oidc" ? "button button-primary button-wide" : "button button-wide"} onClick={openProvider}>
          Sign in with {oidc.name} (in a new tab)
        </button>
      )}
      {local && who.method !== "oidc" && <PasswordSignIn email={who.email} primary onSignedIn={loadSession} />}
      {local && who.method === "link" && <p class="quiet small">Or open a new sign-in link in another tab of this browser; this page then continues.</p>}
    </>
  );
}

/** A tab that closes itself at the end. It has no opener: the provider cannot access this page. */
function openInTab(address: string): void {
  sessionStorage.setItem(CLOSES, "1");
  const tab = open("", "_blank");
  sessionStorage.removeItem(CLOSES);
  if (tab === null) return;
  tab.opener = null;
  tab.location.replace(address);
}
