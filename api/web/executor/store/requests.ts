/** Builds the request of an operation. The token is sent in the Authorization header only. */
import { type Batched, type Operation, THE_DRAWING } from "./records";

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: URL;
  readonly token: string | null;
  readonly json?: unknown;
  readonly blob?: Blob;
  /** Whether to send the browser's session cookie. */
  readonly session: boolean;
  /** The member who entered the operation. */
  readonly member?: string | undefined;
  /** How long the service may take in addition to the usual time. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** URLs of one run. `api` is the service's base, e.g. `https://host/prefix/v1/`. */
export class RunAddresses {
  constructor(
    private readonly api: URL,
    private readonly runId: string,
    /** The current token: an invalid one is replaced by the stored one. */
    public token: string | null,
  ) {}

  /** The session is sent for runs for members only. */
  withSession = false;

  preview(): ApiRequest {
    return { method: "GET", url: new URL(`runs/${encodeURIComponent(this.runId)}/preview`, this.api), token: null, session: false };
  }

  run(): ApiRequest {
    return { method: "GET", url: this.executor(""), token: this.token, session: this.withSession };
  }

  /** Is answered when the run has more than `known` changes, or after `waitS` seconds. */
  changes(known: number, waitS: number): ApiRequest {
    const url = this.executor("/changes", { after: String(known), wait: String(Math.round(waitS)) });
    return { method: "GET", url, token: this.token, session: this.withSession, waitMs: waitS * 1000 };
  }

  open(): ApiRequest {
    return { method: "POST", url: this.executor("/open"), token: this.token, session: this.withSession };
  }

  /** The receipt of a completed run as a PDF, with times of this zone. */
  receipt(timeZone: string | undefined): ApiRequest {
    const url = this.executor("/receipt", timeZone === undefined ? {} : { time_zone: timeZone });
    return { method: "GET", url, token: this.token, session: this.withSession };
  }

  /** The signed-in person, from the dashboard's API. */
  session(): ApiRequest {
    return { method: "GET", url: new URL("../dashboard/api/session", this.api), token: null, session: true };
  }

  /** The sign-in page, which returns to the run (`null`: to no page). The run's token stays on the device. */
  signIn(backTo: "run" | null, asOther: boolean): URL {
    const url = new URL("../dashboard/sign-in", this.api);
    if (asOther) url.searchParams.set("as", "other");
    if (backTo === "run") url.searchParams.set("return_to", `/r/${this.runId}`);
    else url.searchParams.set("next", "sign-in/done");
    return url;
  }

  /** `blob` is the photo or drawing of the operation. */
  operation(operation: Operation, blob: Blob | null): ApiRequest {
    return { ...this.carrying(operation, blob), session: this.withSession, member: operation.member };
  }

  /** Operations of one member, in order. */
  batch(operations: readonly Batched[]): ApiRequest {
    const json = { operations: operations.map(entryOf) };
    const member = operations[0]?.member;
    return { method: "POST", url: this.executor("/operations"), token: this.token, json, session: this.withSession, member };
  }

  private carrying(operation: Operation, blob: Blob | null): Omit<ApiRequest, "session"> {
    const { token } = this;
    const op_id = operation.opId;
    const given = givenAt(operation);
    switch (operation.kind) {
      case "answer": {
        const json = { ...answerOf(operation), op_id, ...given };
        return { method: "PUT", url: this.step("answers", operation.stepId), token, json };
      }
      case "clear":
        return { method: "DELETE", url: this.step("answers", operation.stepId, "", { op_id }), token };
      case "skip":
        return { method: "POST", url: this.step("steps", operation.stepId, "/skip"), token, json: { op_id, ...given } };
      case "photo": {
        const url = this.step("answers", operation.stepId, "/photos", { op_id, ...given });
        return { method: "POST", url, token, blob: blob ?? new Blob() };
      }
      case "photo_removed": {
        const index = operation.index === THE_DRAWING ? {} : { photo_index: String(operation.index) };
        const url = this.step("answers", operation.stepId, "/photos", { ...index, op_id, ...given });
        return { method: "DELETE", url, token };
      }
      case "identity": {
        const json = { name: operation.name, email: operation.email, op_id };
        return { method: "PUT", url: this.executor("/identity"), token, json };
      }
      case "signature":
        return { method: "PUT", url: this.executor("/signature", { op_id }), token, blob: blob ?? new Blob() };
      case "signature_removed":
        return { method: "DELETE", url: this.executor("/signature", { op_id }), token };
      case "submit": {
        const signature = operation.signature === null ? null : { name: operation.signature };
        return { method: "POST", url: this.executor("/submit"), token, json: { signature, op_id } };
      }
      case "cancel":
        return { method: "POST", url: this.executor("/cancel"), token, json: { reason: operation.reason, op_id } };
    }
  }

  private step(folder: string, stepId: string, rest = "", query: Record<string, string> = {}): URL {
    return this.executor(`/${folder}/${encodeURIComponent(stepId)}${rest}`, query);
  }

  private executor(path: string, query: Record<string, string> = {}): URL {
    const url = new URL(`executor/runs/${encodeURIComponent(this.runId)}${path}`, this.api);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  }
}

const BATCH_OPERATIONS = 200;
/** The service accepts 256 KiB of JSON; proxies may accept a little less. */
const BATCH_BYTES = 200 * 1024;

/** The first of `operations` that fit into one request and belong to one member. */
export function batchOf(operations: readonly Batched[]): readonly Batched[] {
  const encoder = new TextEncoder();
  let bytes = 0;
  const end = operations.findIndex((operation, place) => {
    bytes += encoder.encode(JSON.stringify(entryOf(operation))).length + 1;
    return place === BATCH_OPERATIONS || bytes > BATCH_BYTES || operation.member !== operations[0]?.member;
  });
  return end < 0 ? operations : operations.slice(0, end);
}

function entryOf(operation: Batched): unknown {
  const entry = { type: operation.kind, step_id: operation.stepId, op_id: operation.opId };
  if (operation.kind === "clear") return entry;
  const timed = { ...entry, ...givenAt(operation) };
  return operation.kind === "answer" ? { ...timed, ...answerOf(operation) } : timed;
}

function answerOf({ value, geo, note }: Extract<Operation, { kind: "answer" }>): object {
  return { value, geo, ...(note === undefined ? {} : { note }) };
}

/** When the person acted. The service reads years of four digits only; without a time, that of the arrival counts. */
function givenAt({ at }: Operation): { given_at?: string } {
  return /^\d{4}-/.test(at) ? { given_at: at } : {};
}
