/** Data that a page loads from the service, reloaded on demand while the old data stays visible. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { ApiError } from "../client";

export interface Resource<T> {
  /** The last data; kept while newer data is loading. */
  readonly data: T | null;
  readonly error: ApiError | null;
  readonly loading: boolean;
  reload(): void;
  /** Replaces the data, e.g. with the response to a write. */
  set(data: T): void;
}

/** `read` is called whenever `key` changes; outdated responses are dropped. */
export function useResource<T>(key: string, read: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const [state, setState] = useState<{ key: string; data: T | null; error: ApiError | null; loading: boolean }>({
    key,
    data: null,
    error: null,
    loading: true,
  });
  const [turn, setTurn] = useState(0);
  const newest = useRef(read);
  newest.current = read;
  useEffect(() => {
    const aborter = new AbortController();
    setState((before) => ({ ...(before.key === key ? before : { data: null }), key, error: null, loading: true }));
    newest
      .current(aborter.signal)
      .then((data) => {
        if (!aborter.signal.aborted) setState({ key, data, error: null, loading: false });
      })
      .catch((error: unknown) => {
        if (aborter.signal.aborted) return;
        const failure = error instanceof ApiError ? error : new ApiError(0, "unexpected", String(error));
        setState((before) => ({ ...before, error: failure, loading: false }));
      });
    return () => aborter.abort();
  }, [key, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const set = useCallback((data: T) => setState((before) => ({ ...before, data, error: null, loading: false })), []);
  const current = state.key === key ? state : { data: null, error: null, loading: true };
  return { data: current.data, error: current.error, loading: current.loading, reload, set };
}
