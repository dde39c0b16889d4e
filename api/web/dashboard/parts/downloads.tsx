/** A download: progress, stop button and error. */
import { useEffect, useRef, useState } from "preact/hooks";

import { Icon } from "../../kit/controls/icon";
import { ApiError } from "../client";
import { type DownloadProgress, download } from "../download";
import { count, counted, Progress } from "./progress";
import { Failure } from "./states";
import { toast } from "./toast";

const KILO = 1000;
const UNITS = ["bytes", "kB", "MB", "GB"];

export interface Download {
  /** A description: "Exporting runs as CSV". */
  readonly title: string;
  readonly path: string;
  readonly coming: DownloadProgress | null;
  readonly error: ApiError | null;
}

/** One download at a time; leaving the page stops it. */
export function useDownload() {
  const [now, setNow] = useState<Download | null>(null);
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const end = () => {
    stop.current?.abort();
    setNow(null);
  };
  const start = async (path: string, title: string) => {
    stop.current?.abort();
    const ours = new AbortController();
    stop.current = ours;
    const report = (coming: DownloadProgress | null, error: ApiError | null = null) => {
      if (stop.current === ours && !ours.signal.aborted) setNow({ path, title, coming, error });
    };
    report(null);
    try {
      await download(path, (coming) => report(coming), ours.signal);
      if (ours.signal.aborted) return;
      setNow(null);
      toast("The file is saved.");
    } catch (problem) {
      if (ours.signal.aborted) return;
      if (!(problem instanceof ApiError)) throw problem;
      report(null, problem);
    }
  };
  return { now, start: (path: string, title: string) => void start(path, title), end };
}

interface Props {
  download: ReturnType<typeof useDownload>;
}

export function DownloadNow({ download: { now, start, end } }: Props) {
  if (now === null) return null;
  const { title, coming, error } = now;
  return (
    <div class="download">
      {error !== null ? (
        <Failure error={error} onRetry={() => start(now.path, title)} />
      ) : (
        <Progress label={title} value={coming?.runs ?? 0} max={coming?.total ?? null} text={soFar(coming)} />
      )}
      <button type="button" class="button button-quiet" onClick={end}>
        <Icon name="close" />
        {error !== null ? "Dismiss" : "Stop"}
      </button>
    </div>
  );
}

function soFar(coming: DownloadProgress | null): string {
  if (coming === null) return "being made";
  const size = sizeOf(coming.bytes);
  return coming.total === null ? size : `${count(coming.runs)} of ${counted(coming.total, "run")}, ${size}`;
}

function sizeOf(bytes: number): string {
  const step = Math.min(UNITS.length - 1, bytes < KILO ? 0 : Math.floor(Math.log(bytes) / Math.log(KILO)));
  return `${(bytes / KILO ** step).toFixed(step === 0 ? 0 : 1)} ${UNITS[step]}`;
}
