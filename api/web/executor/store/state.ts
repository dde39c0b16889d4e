/** The state of one run in one tab, as signals. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Preview, Problem, Progress, ServerRun, Template } from "../../core/types";
import { Links } from "./links";
import { type Failure, phaseOf, syncOf } from "./phase";
import { PhotoCache } from "./photo_cache";
import { identityOf, project, type Projection, settledOn } from "./projection";
import { NO_RECORDS, type Records, stepOf } from "./records";
import type { Membership, Notice } from "./types";

const NOTHING: Projection = {
  answers: new Map(),
  applicable: new Set(),
  missing: [],
  progress: { total: 0, answered: 0, skipped: 0 },
};

/** Stored and derived signals; `store.ts` changes them. */
export abstract class RunState {
  abstract readonly membership: ReadonlySignal<Membership>;

  protected readonly records = signal<Records>(NO_RECORDS);
  protected readonly template = signal<Template | null>(null);
  protected readonly token = signal<string | null>(null);
  protected readonly failure = signal<Failure>("none");
  protected readonly reviewing = signal(false);
  protected readonly reached = signal(true);
  protected readonly denied = signal(false);
  protected readonly failures = signal(0);
  protected readonly timeIsUp = signal(false);
  protected readonly keeping = signal(true);
  protected readonly ownNotices = signal<readonly Notice[]>([]);
  protected readonly photos = new PhotoCache();
  protected readonly shownPreview = signal<Preview | null>(null);
  protected readonly drawing = signal<{ readonly content: Blob; readonly url: string } | null>(null);

  protected readonly links = computed(() => new Links(this.template.value));
  private last = NOTHING;
  protected readonly projection = computed<Projection>(() => {
    if (this.template.value === null || this.records.value.run === null) return NOTHING;
    const found = project(this.records.value, this.template.value, this.photos.desk.value, this.last.answers);
    this.last = settledOn(this.last, found);
    return this.last;
  });

  readonly keeps: ReadonlySignal<boolean> = this.keeping;
  readonly preview: ReadonlySignal<Preview | null> = this.shownPreview;
  readonly run: ReadonlySignal<ServerRun | null> = computed(() => this.currentRun());
  readonly answers = computed(() => this.projection.value.answers);
  readonly applicable = computed(() => this.projection.value.applicable);
  readonly missing = computed<readonly string[]>(() => this.projection.value.missing);
  readonly progress = computed<Progress>(() => this.projection.value.progress);
  readonly submitQueued = computed(() => this.records.value.queue.some((operation) => operation.kind === "submit"));
  readonly cancelQueued = computed(() => this.records.value.queue.some((operation) => operation.kind === "cancel"));
  readonly notArrived = computed(() => [...this.records.value.lost].sort((one, other) => one.seq - other.seq));
  readonly notices = computed(() => {
    const signedOut: Notice[] = this.membership.value.access === "sign_in" ? [{ id: "signed_out", kind: "signed_out", stepIds: [] }] : [];
    return [...signedOut, ...this.ownNotices.value, ...this.records.value.notices];
  });
  readonly signatureDrawing = computed(() => this.drawing.value?.url ?? null);
  readonly refusals = computed<readonly Problem[]>(() =>
    this.records.value.refused.flatMap(({ operation, problems }) => (stepOf(operation) === null ? problems : [])),
  );
  readonly sync = computed(() =>
    syncOf({
      waiting: this.records.value.queue.length,
      refusals: this.openRefusals(),
      reached: this.reached.value,
      denied: this.denied.value,
      signedOut: this.membership.value.access === "sign_in",
      failures: this.failures.value,
    }),
  );
  readonly phase = computed(() => {
    const run = this.run.value;
    return phaseOf({
      hasToken: this.token.value !== null,
      hasPreview: this.shownPreview.value !== null,
      status: run?.status ?? null,
      identity: run?.executor_identity ?? null,
      reviewing: this.reviewing.value,
      timeIsUp: this.timeIsUp.value,
      failure: this.failure.value,
      access: this.membership.value.access,
    });
  });

  protected notify(notice: Notice): void {
    this.ownNotices.value = [...this.ownNotices.peek().filter((other) => other.id !== notice.id), notice];
  }

  private openRefusals(): number {
    const { applicable } = this.projection.value;
    return this.records.value.refused.filter(({ operation }) => {
      const stepId = stepOf(operation);
      return stepId === null || applicable.has(stepId);
    }).length;
  }

  /** The same object while its content is unchanged. */
  private lastRun: { readonly run: ServerRun; readonly of: unknown; readonly who: string } | null = null;
  private currentRun(): ServerRun | null {
    const [records, template] = [this.records.value, this.template.value];
    if (records.run === null || template === null) return null;
    const of = records.run.run;
    const known = { ...of, template };
    const identity = identityOf(records, known);
    const who = JSON.stringify(identity);
    if (this.lastRun?.of !== of || this.lastRun.who !== who) {
      this.lastRun = { run: { ...known, executor_identity: identity }, of, who };
    }
    return this.lastRun.run;
  }
}
