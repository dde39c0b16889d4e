/**
 * All pages below an organization: path after `/{org_id}/` and component. A path segment with a colon is a parameter.
 * Large pages are loaded when first shown.
 */
import type { ComponentType } from "preact";

import type { Role } from "../session";

export interface PageProps {
  /** The path parameters. */
  readonly params: Readonly<Record<string, string>>;
}

export interface PageEntry {
  readonly path: string;
  readonly title: string;
  /** The minimum role to see the page. */
  readonly role: Role;
  /** Its group in the navigation, in this order; null if it is reached from another page. */
  readonly section: "overview" | "runs" | "deliveries" | "templates" | "settings" | null;
  load(): Promise<ComponentType<PageProps>>;
}

export const PAGES: readonly PageEntry[] = [
  {
    path: "overview",
    title: "Overview",
    role: "viewer",
    section: "overview",
    load: () => import("./overview").then((page) => page.OverviewPage),
  },
  {
    path: "runs",
    title: "Runs",
    role: "viewer",
    section: "runs",
    load: () => import("./runs").then((page) => page.RunsPage),
  },
  {
    path: "runs/new",
    title: "Dispatch a run",
    role: "editor",
    section: null,
    load: () => import("./dispatch").then((page) => page.DispatchPage),
  },
  {
    path: "runs/new/many",
    title: "Dispatch many runs",
    role: "editor",
    section: null,
    load: () => import("./many/page").then((page) => page.DispatchManyPage),
  },
  {
    path: "runs/:run_id",
    title: "Run",
    role: "viewer",
    section: null,
    load: () => import("./run").then((page) => page.RunPage),
  },
  {
    path: "deliveries",
    title: "Deliveries",
    role: "viewer",
    section: "deliveries",
    load: () => import("./deliveries").then((page) => page.DeliveriesPage),
  },
  {
    path: "deliveries/endpoints",
    title: "Endpoints",
    role: "viewer",
    section: null,
    load: () => import("./endpoints").then((page) => page.EndpointsPage),
  },
  {
    path: "deliveries/replay",
    title: "Replay failed deliveries",
    role: "editor",
    section: null,
    load: () => import("./deliveries_replay").then((page) => page.ReplayManyPage),
  },
  {
    path: "deliveries/replays",
    title: "Replays",
    role: "viewer",
    section: null,
    load: () => import("./deliveries_replays").then((page) => page.ReplaysPage),
  },
  {
    path: "deliveries/replays/:replay_id",
    title: "Replay",
    role: "viewer",
    section: null,
    load: () => import("./deliveries_replays").then((page) => page.ReplayPage),
  },
  {
    path: "deliveries/:event_id",
    title: "Delivery",
    role: "viewer",
    section: null,
    load: () => import("./deliveries_one").then((page) => page.DeliveryPage),
  },
  {
    path: "templates",
    title: "Templates",
    role: "viewer",
    section: "templates",
    load: () => import("./templates/list").then((page) => page.TemplatesPage),
  },
  {
    path: "templates/new",
    title: "New template",
    role: "editor",
    section: null,
    load: () => import("./templates/new_page").then((page) => page.NewTemplatePage),
  },
  {
    path: "templates/:id",
    title: "Template",
    role: "viewer",
    section: null,
    load: () => import("./templates/template_page").then((page) => page.TemplatePage),
  },
  {
    path: "settings/keys",
    title: "API keys",
    role: "admin",
    section: "settings",
    load: () => import("./settings_keys").then((page) => page.KeysPage),
  },
  {
    path: "settings/members",
    title: "Members",
    role: "viewer",
    section: "settings",
    load: () => import("./settings_members").then((page) => page.MembersPage),
  },
  {
    path: "settings/usage",
    title: "Usage",
    role: "viewer",
    section: "settings",
    load: () => import("./settings_usage").then((page) => page.UsagePage),
  },
  {
    path: "settings/audit",
    title: "Audit",
    role: "admin",
    section: "settings",
    load: () => import("./settings_audit").then((page) => page.AuditPage),
  },
];

/** Matches `rest` (the path after the organization) to a page and its parameters. */
export function pageAt(rest: string): { entry: PageEntry; params: Record<string, string> } | null {
  const given = rest.split("/").filter((part) => part !== "");
  for (const entry of PAGES) {
    const wanted = entry.path.split("/");
    if (wanted.length !== given.length) continue;
    const params: Record<string, string> = {};
    const fits = wanted.every((part, index) => {
      const value = given[index] ?? "";
      if (!part.startsWith(":")) return part === value;
      params[part.slice(1)] = value;
      return true;
    });
    if (fits) return { entry, params };
  }
  return null;
}
