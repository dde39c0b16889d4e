/** From an operation to the request that carries it. The token goes into the Authorization header, and nowhere else. */
import { type Operation, THE_DRAWING } from "./records";

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: URL;
  readonly token: string | null;
  readonly json?: unknown;
  readonly blob?: Blob;
}

/** Addresses of one run. `api` is the service's base, e.g. `https://host/prefix/v1/`. */
export class RunAddresses {
  constructor(
    private readonly api: URL,
    private readonly runId: string,
    private readonly token: string | null,
  ) {}

  preview(): ApiRequest {
    return { method: "GET", url: new URL(`runs/${encodeURIComponent(this.runId)}/preview`, this.api), token: null };
  }

  run(): ApiRequest {
    return { method: "GET", url: this.executor(""), token: this.token };
  }

  /** `blob` is the photo or drawing of the operation. */
  operation(operation: Operation, blob: Blob | null): ApiRequest {
    const { token } = this;
    const op_id = operation.opId;
    switch (operation.kind) {
      case "answer": {
        const json = { value: operation.value, geo: operation.geo, op_id };
        return { method: "PUT", url: this.step("answers", operation.stepId), token, json };
      }
      case "clear":
        return { method: "DELETE", url: this.step("answers", operation.stepId, "", { op_id }), token };
      case "skip":
        return { method: "POST", url: this.step("steps", operation.stepId, "/skip"), token, json: { op_id } };
      case "photo": {
        const url = this.step("answers", operation.stepId, "/photos", { op_id });
        return { method: "POST", url, token, blob: blob ?? new Blob() };
      }
      case "photo_removed": {
        const index = operation.index === THE_DRAWING ? {} : { photo_index: String(operation.index) };
        const url = this.step("answers", operation.stepId, "/photos", { ...index, op_id });
        return { method: "DELETE", url, token };
      }
      case "identity": {
        const json = { name: operation.name, email: operation.email, op_id };
        return { method: "PUT", url: this.executor("/identity"), token, json };
      }
      case "signature":
        return { method: "PUT", url: this.executor("/signature", { op_id }), token, blob: blob ?? new Blob() };
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
