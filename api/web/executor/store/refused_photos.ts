/** Photos that the service has refused stay on screen with the reason, but are no part of the answer. */
import type { LocalAnswer, LocalPhoto } from "./types";

export function isRefused({ state }: Pick<LocalPhoto, "state">): boolean {
  return state === "refused";
}

/** The answer as the service has it, or will have it. */
export function withoutRefused(answer: LocalAnswer): LocalAnswer {
  return answer.photos.some(isRefused) ? { ...answer, photos: answer.photos.filter((photo) => !isRefused(photo)) } : answer;
}
