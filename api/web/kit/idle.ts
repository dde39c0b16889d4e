/** Runs a task when the browser has nothing else to do (after a frame where it cannot tell); returns what prevents it. */
export function whenIdle(task: () => void): () => void {
  if (window.requestIdleCallback) {
    const turn = window.requestIdleCallback(task);
    return () => window.cancelIdleCallback(turn);
  }
  const timer = window.setTimeout(task, 16);
  return () => window.clearTimeout(timer);
}
