/** What the command palette offers: actions and pages of the person's role, and what the service finds. */
import type { IconName } from "../kit/controls/icon";
import { PAGES } from "./pages";
import type { Role } from "./session";

export interface Entry {
  readonly key: string;
  readonly title: string;
  /** Further words that find it. */
  readonly words?: string;
  /** Shown next to the title. */
  readonly note?: string;
  readonly icon: IconName;
  /** Below the organization. */
  readonly to: string;
}

export interface Group {
  readonly title: string;
  readonly entries: readonly Entry[];
}

interface Action extends Entry {
  readonly role: Role;
}

const ACTIONS: readonly Action[] = [
  { key: "dispatch", title: "Dispatch a run", words: "new send start link", icon: "send", to: "runs/new", role: "editor" },
  { key: "template", title: "New template", words: "create write checklist generate example", icon: "plus", to: "templates/new", role: "editor" },
  { key: "replay", title: "Replay failed deliveries", words: "retry webhook events again", icon: "retake", to: "deliveries/replay", role: "editor" },
  { key: "key", title: "New API key", words: "create token secret", icon: "key", to: "settings/keys", role: "admin" },
  { key: "member", title: "Invite a member", words: "person user role add", icon: "person", to: "settings/members", role: "admin" },
];

/** `GET search` */
export interface Found {
  readonly runs: readonly { readonly run_id: string; readonly status: string; readonly template_name: string; readonly executor_ref: string | null; readonly created_at: string }[];
  readonly templates: readonly { readonly id: string; readonly name: string; readonly step_count: number }[];
  /** Whether a part of a text was looked for in all live runs, or in the newest `searched` ones. */
  readonly searched_all: boolean;
  readonly searched: number;
}

/** At most so many runs are found, the newest ones: `RUNS` of `checklist_api/dashboard/search.py`. */
export const RUNS_FOUND = 8;

/** The service searches for texts of at least this length. */
export const SHORTEST = 2;
export const LONGEST = 200;

/** Groups with at least one entry. Each word of `text` must be in an entry's title or words. */
export function groupsOf(text: string, found: Found | null, may: (role: Role) => boolean, statusText: (status: string) => string): readonly Group[] {
  const groups: Group[] = [
    { title: "Runs", entries: (found?.runs ?? []).map((run) => ({ key: run.run_id, title: run.template_name, note: [run.executor_ref, statusText(run.status)].filter(Boolean).join(" · "), icon: "check-circle", to: `runs/${run.run_id}` })) },
    { title: "Templates", entries: (found?.templates ?? []).map((template) => ({ key: template.id, title: template.name, note: template.step_count === 1 ? "1 step" : `${template.step_count} steps`, icon: "copy", to: `templates/${template.id}` })) },
    { title: "Actions", entries: ACTIONS.filter((action) => may(action.role) && isAbout(action, text)) },
    { title: "Pages", entries: PAGES.filter((page) => page.section !== null && may(page.role)).map((page): Entry => ({ key: page.path, title: page.title, icon: "forward", to: page.path })).filter((page) => isAbout(page, text)) },
  ];
  return groups.filter((group) => group.entries.length > 0);
}

function isAbout({ title, words = "" }: Entry, text: string): boolean {
  const own = `${title} ${words}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => own.includes(word));
}
