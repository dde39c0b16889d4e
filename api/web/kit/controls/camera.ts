import { useEffect, useState } from "preact/hooks";

/** Errors that another attempt does not change: no permission, no camera. */
const FINAL: ReadonlySet<string> = new Set(["NotAllowedError", "NotFoundError"]);
let isUsable = true;

/** Whether the page can show the camera's picture itself, as far as it is known. */
export function hasCamera(): boolean {
  return isUsable && window.isSecureContext && typeof navigator.mediaDevices?.getUserMedia === "function";
}

/** The rear camera while the component is mounted. `failed` if there is none or access is denied. */
export function useCamera(video: { readonly current: HTMLVideoElement | null }): "starting" | "on" | "failed" {
  const [state, setState] = useState<"starting" | "on" | "failed">("starting");
  useEffect(() => {
    let stream: MediaStream | null = null;
    let gone = false;
    const start = async () => {
      const wanted = { facingMode: { ideal: "environment" }, width: { ideal: 2560 }, height: { ideal: 1440 } };
      stream = await navigator.mediaDevices.getUserMedia({ video: wanted, audio: false });
      if (gone || video.current === null) return stop(stream);
      video.current.srcObject = stream;
      await video.current.play();
      setState("on");
    };
    start().catch((error: unknown) => {
      if (error instanceof DOMException && FINAL.has(error.name)) isUsable = false;
      if (!gone) setState("failed");
    });
    return () => {
      gone = true;
      if (stream !== null) stop(stream);
    };
  }, []);
  return state;
}

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}
