/**
 * Access to a run for members, as last reported by the service. The session is the browser's cookie, which scripts
 * cannot read; it is sent for such runs only, so that no other request identifies the person.
 */
import { signal, type ReadonlySignal } from "@preact/signals";

import type { ExecutorIdentity, ServerRun } from "../../core/types";
import type { Records } from "./records";
import type { RunAddresses } from "./requests";
import { isOpen } from "./server_state";
import type { Send } from "./transport";
import type { Asking, Access, Membership } from "./types";
import type { Reply } from "./verdict";

type HttpReply = Extract<Reply, { kind: "http" }>;

/** Dependencies on the store. */
export interface MembershipDeps {
  readonly addresses: RunAddresses;
  readonly send: Send;
  records(): Records;
  /** The service accepted the link's token. */
  tokenAccepted(): void;
  /** Access was granted: pending operations may be sent. */
  opened(): void;
}

export class MemberAccess {
  private readonly state = signal<Membership>({ access: "open", asking: null, email: null });
  readonly membership: ReadonlySignal<Membership> = this.state;

  constructor(private readonly deps: MembershipDeps) {}

  get isOpen(): boolean {
    return this.state.peek().access === "open";
  }

  /**
   * Processes the response to a read of the run: requests it with the session if required, and opens an unassigned run.
   * Resolves to the final response, or to null if access is denied.
   */
  async passed(reply: Reply): Promise<Reply | null> {
    const last = await this.answered(reply);
    if (last.kind === "network") return last;
    const code = codeOf(last);
    if (code === "sign_in_required") return this.close("sign_in", askingIn(last), null);
    if (code === "assigned_to_another") return this.close("assigned", null, await this.email());
    if (code === "run_not_found" && this.deps.addresses.withSession) return this.missing(last);
    const identity = identityIn(last);
    if (identity === null) return last;
    if (identity.mode === "member" && this.othersWait(identity.user_id)) return this.close("others", null, await this.email());
    if (!this.isOpen) {
      this.state.value = { access: "open", asking: null, email: null };
      this.deps.opened();
    }
    return last;
  }

  private async answered(reply: Reply): Promise<Reply> {
    const { addresses, send } = this.deps;
    let last = reply;
    if (codeOf(last) === "sign_in_required" && !addresses.withSession) {
      addresses.withSession = true;
      this.ask(askingIn(last));
      last = await send(addresses.run());
    }
    if (!isNobodysYet(last)) return last;
    // Reading does not assign the run: the member who sees the checklist opens it.
    const opened = await send(addresses.open());
    return opened.kind === "http" && opened.status === 200 ? send(addresses.run()) : opened;
  }

  /** Run not found, or not assigned to this person: without the session, the service tells which. */
  private async missing(original: HttpReply): Promise<Reply | null> {
    const { addresses, send } = this.deps;
    const reply = await send({ ...addresses.run(), session: false });
    if (codeOf(reply) !== "sign_in_required") return codeOf(reply) === "run_not_found" ? original : reply;
    return this.close("not_member", askingIn(reply), await this.email());
  }

  /** Answers of another member on this device must not be sent as this person's. */
  private othersWait(own: string | null): boolean {
    return this.deps.records().queue.some((operation) => operation.member !== undefined && operation.member !== own);
  }

  private close(access: Access, asking: Asking | null, email: string | null): null {
    this.deps.tokenAccepted();
    this.state.value = { access, asking: asking ?? this.state.peek().asking, email };
    return null;
  }

  private ask(asking: Asking | null): void {
    this.state.value = { ...this.state.peek(), asking };
  }

  private async email(): Promise<string | null> {
    const reply = await this.deps.send(this.deps.addresses.session());
    const email = reply.kind === "http" && reply.status === 200 ? reply.body?.["email"] : null;
    return typeof email === "string" ? email : null;
  }
}

function codeOf(reply: Reply): string | null {
  const code = reply.kind === "http" && reply.status >= 400 ? reply.body?.["error"] : null;
  return typeof code === "string" ? code : null;
}

/** Execution settings of the read run; null if the response was not a run, e.g. from a captive portal. */
function identityIn(reply: Reply): ExecutorIdentity | null {
  if (reply.kind !== "http" || reply.status !== 200) return null;
  return (reply.body as unknown as Partial<ServerRun> | null)?.executor_identity ?? null;
}

function isNobodysYet(reply: Reply): boolean {
  const identity = identityIn(reply);
  if (reply.kind !== "http" || identity?.mode !== "member" || identity.user_id !== null) return false;
  return isOpen(reply.body as unknown as ServerRun);
}

function askingIn(reply: Reply): Asking | null {
  const details = reply.kind === "http" ? reply.body?.["details"] : null;
  if (typeof details !== "object" || details === null || !("organization" in details)) return null;
  const text = (name: string) => String((details as Record<string, unknown>)[name] ?? "");
  return { organization: text("organization"), templateName: text("template_name"), sender: text("created_by_name") };
}
