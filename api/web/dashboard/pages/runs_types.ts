/** Runs as the API returns them: in lists, and one with all details. */
import type { Geo, Photo, Receipt, Signature } from "../../core/types";
import { counted } from "../parts/progress";

export type RunStatus = "pending" | "in_progress" | "completed" | "cancelled" | "expired";

export const RUN_STATUSES: readonly { readonly value: RunStatus; readonly title: string }[] = [
  { value: "pending", title: "Pending" },
  { value: "in_progress", title: "In progress" },
  { value: "completed", title: "Completed" },
  { value: "cancelled", title: "Cancelled" },
  { value: "expired", title: "Expired" },
];

export type Identity =
  | { readonly mode: "anonymous" }
  | { readonly mode: "external"; readonly name: string | null; readonly email: string | null }
  | { readonly mode: "member"; readonly user_id: string | null };

export interface RunSummary {
  readonly run_id: string;
  readonly status: RunStatus;
  readonly template_id: string;
  readonly template_v: number;
  readonly template_name: string;
  readonly executor_ref: string | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly cancelled_at: string | null;
  readonly expires_at: string | null;
  readonly assigned_to: string | null;
  readonly executor_identity: Identity;
  readonly progress: { readonly total: number; readonly answered: number; readonly skipped: number };
  /** Number of answers outside what is expected. */
  readonly flagged: number;
}

export interface StoryAnswer {
  readonly value: unknown;
  readonly photos: readonly Photo[];
  readonly geo: Geo | null;
  readonly at: string;
  readonly by: string | null;
  /** Later than `at` if the answer was given without network; an earlier release does not send it. */
  readonly received_at?: string;
  /** Outside what is expected. */
  readonly flagged: boolean;
  readonly note: string | null;
}

export interface StoryStep {
  readonly id: string;
  readonly type: string;
  readonly label: string;
  readonly required: boolean;
  readonly geo: boolean;
  readonly state: "answered" | "skipped" | "open" | "not_applicable" | "instruction";
  /** The answer formatted for display. */
  readonly display: string | null;
  /** What is expected, formatted for display; empty if nothing is. */
  readonly expected: string;
  /** 1 at the first answer, incremented with each new one. */
  readonly revision: number | null;
}

export interface StorySection {
  readonly id: string;
  readonly title: string;
  readonly steps: readonly StoryStep[];
}

/** `GET runs/{run_id}/story` */
export interface RunStory extends RunSummary {
  readonly cancel_reason: string | null;
  readonly answers: Readonly<Record<string, StoryAnswer>>;
  readonly signature: Signature | null;
  readonly receipt: Receipt | null;
  readonly created_by_name: string | null;
  readonly allow_skip: boolean;
  readonly signature_required: boolean;
  readonly webhook: { readonly host: string; readonly events: readonly string[] } | null;
  readonly sections: readonly StorySection[];
  readonly missing_steps: readonly string[];
  readonly last_step_id: string | null;
  readonly people: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly step: StoryStep;
  readonly answer: StoryAnswer;
  /** The title of the step's section. */
  readonly section: string;
}

/** In the order of the checklist; a kept answer of a step that no longer applies is no part of the result. */
export function answeredSteps(story: RunStory): readonly Answered[] {
  return story.sections.flatMap(({ title, steps }) =>
    steps.flatMap((step) => {
      const answer = story.answers[step.id];
      return answer !== undefined && step.state === "answered" ? [{ step, answer, section: title }] : [];
    }),
  );
}

/** `GET runs/{run_id}/link` */
export interface RunLink {
  readonly link: string;
  readonly expires_at: string | null;
  readonly qr: { readonly size: number; readonly path: string };
}

/** "3 of 4" of a run that can still be answered; a completed one has all that was required, so it counts answers. */
export function progressText({ status, progress }: Pick<RunSummary, "status" | "progress">): string {
  const { answered, skipped, total } = progress;
  return status === "completed" ? counted(answered, "answer") : `${answered + skipped} of ${total}`;
}

export function isOpen(status: RunStatus): boolean {
  return status === "pending" || status === "in_progress";
}

/** The name of a member; the id of a removed one. */
export function nameOf(story: RunStory, person: string): string {
  return story.people[person] ?? person;
}
