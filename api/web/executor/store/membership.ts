/**
 * A run for members: who may answer it, as the service has told last. The session is the browser's own, in a cookie that
 * no script sees; it is sent for such runs only, so nobody is named by surprise.
 */
import { signal, type ReadonlySignal } from "@preact/signals";

import type { ExecutorIdentity, ServerRun } from "../../core/types";
import type { Records } from "./records";
import type { RunAddresses } from "./requests";
import { isOpen } from "./server_state";
import type { Send } from "./transport";
import type { Asking, Door, Membership } from "./types";
import type { Reply } from "./verdict";

type HttpReply = Extract<Reply, { kind: "http" }>;

/** What it needs of the store. */
export interface Hall {
  readonly addresses: RunAddresses;
  readonly send: Send;
  records(): Records;
  /** The service has taken the link's token. */
  tokenTaken(): void;
  /** The door has opened: what waits may be sent. */
  opened(): void;
}

export class MemberDoor {
  private readonly state = signal<Membership>({ door: "open", asking: null, email: null });
  readonly membership: ReadonlySignal<Membership> = this.state;

  constructor(private readonly hall: Hall) {}

  get isOpen(): boolean {
    return this.state.peek().door === "open";
  }

  /**
   * Goes on from the answer to a read of the run: shows the session where it is asked for, opens a run that is nobody's
   * yet. Resolves to the answer that counts, or to null when it is the door that is closed.
   */
  async passed(reply: Reply): Promise<Reply | null> {
    const last = await this.answered(reply);
    if (last.kind === "network") return last;
    const code = codeOf(last);
    if (code === "sign_in_required") return this.close("sign_in", askingIn(last), null);
    if (code === "assigned_to_another") return this.close("assigned", null, await this.email());
    if (code === "run_not_found" && this.hall.addresses.withSession) return this.missing(last);
    const identity = identityIn(last);
    if (identity === null) return last;
    if (identity.mode === "member" && this.othersWait(identity.user_id)) return this.close("others", null, await this.email());
    if (!this.isOpen) {
      this.state.value = { door: "open", asking: null, email: null };
      this.hall.opened();
    }
    return last;
  }

  private async answered(reply: Reply): Promise<Reply> {
    const { addresses, send } = this.hall;
    let last = reply;
    if (codeOf(last) === "sign_in_required" && !addresses.withSession) {
      addresses.withSession = true;
      this.ask(askingIn(last));
      last = await send(addresses.run());
    }
    if (!isNobodysYet(last)) return last;
    // Looking is not opening: the member who sees the checklist is the one who answers it.
    const opened = await send(addresses.open());
    return opened.kind === "http" && opened.status === 200 ? send(addresses.run()) : opened;
  }

  /** No such run, or not for this person: without the session, the service says which. */
  private async missing(told: HttpReply): Promise<Reply | null> {
    const { addresses, send } = this.hall;
    const reply = await send({ ...addresses.run(), session: false });
    if (codeOf(reply) !== "sign_in_required") return codeOf(reply) === "run_not_found" ? told : reply;
    return this.close("not_member", askingIn(reply), await this.email());
  }

  /** Answers that somebody else gave on this device must not become this person's. */
  private othersWait(own: string | null): boolean {
    return this.hall.records().queue.some((operation) => operation.member !== undefined && operation.member !== own);
  }

  private close(door: Door, asking: Asking | null, email: string | null): null {
    this.hall.tokenTaken();
    this.state.value = { door, asking: asking ?? this.state.peek().asking, email };
    return null;
  }

  private ask(asking: Asking | null): void {
    this.state.value = { ...this.state.peek(), asking };
  }

  private async email(): Promise<string | null> {
    const reply = await this.hall.send(this.hall.addresses.session());
    const email = reply.kind === "http" && reply.status === 200 ? reply.body?.["email"] : null;
    return typeof email === "string" ? email : null;
  }
}

function codeOf(reply: Reply): string | null {
  const code = reply.kind === "http" && reply.status >= 400 ? reply.body?.["error"] : null;
  return typeof code === "string" ? code : null;
}

/** Of the run that was read; null where nothing was, as from a network that answers everything with a page of its own. */
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
