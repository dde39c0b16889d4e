import type { ServerRun } from "./store/types";

/** The name of the person who answers: the one entered at the start, or the member's; "" if there is none. */
export function signerOf(run: ServerRun | null): string {
  const identity = run?.executor_identity;
  return (identity?.mode === "external" ? identity.name : run?.signed_in_as?.name) ?? "";
}
