/** The frame of every page: skip link, navigation, signed-in person and organization. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { Icon } from "../kit/controls/icon";
import { ApiError, signedOut } from "./client";
import { PAGES, type PageEntry } from "./pages";
import { Link } from "./parts/link";
import { PaletteButton } from "./palette";
import { LiveBadge } from "./parts/live_badge";
import { Menu } from "./parts/menu";
import { toast, Toasts } from "./parts/toast";
import { path } from "./router";
import { may, organization, session, signOut } from "./session";
import { SignInAgain } from "./sign_in_again";

export { Link } from "./parts/link";

const SECTIONS = ["overview", "runs", "deliveries", "templates", "settings"] as const;

export function Shell({ children }: { children: ComponentChildren }) {
  const own = organization.value;
  const [open, setOpen] = useState(false);
  const menu = useRef<HTMLButtonElement>(null);
  const here = path.value;
  useEffect(() => setOpen(false), [here]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !open) return;
    setOpen(false);
    menu.current?.focus();
  };
  return (
    <div class="shell" onKeyDown={onKeyDown}>
      <a class="skip-link" href="#content" onClick={toContent}>
        Skip to the content
      </a>
      <header class="bar">
        {own !== null && (
          <button ref={menu} type="button" class="button button-quiet nav-button" aria-expanded={open} aria-controls="navigation" onClick={() => setOpen(!open)}>
            <Icon name={open ? "close" : "menu"} />
            Menu
          </button>
        )}
        <Link to="" class="brand">
          Checklist Dispatch
        </Link>
        {own !== null && <Organizations />}
        {own !== null && <PaletteButton />}
        <LiveBadge />
        <Person />
      </header>
      {own !== null && <Navigation organizationId={own.id} open={open} />}
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <Toasts />
      {signedOut.value && <SignInAgain />}
    </div>
  );
}

/** Without a hash in the address, which the page may use. */
function toContent(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function Organizations() {
  const all = session.value?.organizations ?? [];
  const own = organization.value;
  if (own === null) return null;
  if (all.length < 2) {
    return (
      <span class="organization" dir="auto">
        {own.name}
      </span>
    );
  }
  return (
    <Menu label={`Organization: ${own.name}`} class="organization" face={<span dir="auto">{own.name}</span>}>
      {(close) => (
        <ul>
          {all.map((one) => (
            <li key={one.id}>
              <Link to={one.id} current={one.id === own.id} onFollow={close}>
                <span dir="auto">{one.name}</span>
                <span class="quiet small"> {one.role}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Menu>
  );
}

function Person() {
  const who = session.value;
  if (who === null) return null;
  const out = () =>
    void signOut().catch((error: unknown) => {
      toast(error instanceof ApiError ? `You are still signed in. ${error.message}` : String(error), "bad");
    });
  return (
    <Menu
      label={`Your account: ${who.name}`}
      class="person"
      face={
        <>
          <Icon name="person" />
          <span class="person-name" dir="auto">
            {who.name}
          </span>
        </>
      }
    >
      {(close) => (
        <>
          <p class="menu-text">
            <strong dir="auto">{who.name}</strong>
            <span class="quiet small">{who.email}</span>
          </p>
          <ul>
            <li>
              <Link to="account" current={path.value === "account"} onFollow={close}>
                Your account
              </Link>
            </li>
            <li>
              <button type="button" onClick={out}>
                Sign out
              </button>
            </li>
          </ul>
        </>
      )}
    </Menu>
  );
}

function Navigation({ organizationId, open }: { organizationId: string; open: boolean }) {
  const here = path.value.slice(organizationId.length + 1);
  const entries = PAGES.filter((entry) => entry.section !== null && may(entry.role)).sort((one, other) => order(one) - order(other));
  const work = entries.filter((entry) => entry.section !== "settings");
  const settings = entries.filter((entry) => entry.section === "settings");
  const list = (shown: readonly PageEntry[]) => (
    <ul>
      {shown.map((entry) => (
        <li key={entry.path}>
          <Link to={`${organizationId}/${entry.path}`} current={here === entry.path || here.startsWith(`${entry.path}/`)}>
            {entry.title}
          </Link>
        </li>
      ))}
    </ul>
  );
  return (
    <nav id="navigation" class={open ? "is-open" : undefined} aria-label="Dashboard">
      {list(work)}
      {settings.length > 0 && (
        <>
          <h2 class="nav-title">Settings</h2>
          {list(settings)}
        </>
      )}
    </nav>
  );
}

function order(entry: PageEntry): number {
  return entry.section === null ? SECTIONS.length : SECTIONS.indexOf(entry.section);
}
