import { useEffect, useRef, useState } from "preact/hooks";

import { t } from "../language";
import { hasCamera, useCamera } from "./camera";
import type { AnswerProps } from "./control";
import { wiring } from "./control";
import { Dialog } from "./dialog";
import { onEnter, useDraft } from "./draft";
import { Icon } from "./icon";
import { Message } from "./messages";

/** https://wicg.github.io/shape-detection-api/ : not in TypeScript's library, and not in every browser. */
interface BarcodeDetector {
  detect(source: HTMLVideoElement): Promise<{ rawValue: string }[]>;
}
declare global {
  interface Window {
    BarcodeDetector?: new () => BarcodeDetector;
  }
}

const SCAN_MS = 200;

/** A code: scanned by the camera if the browser supports it, or typed. */
export function ScanControl(props: AnswerProps) {
  const { id, disabled, onChange } = props;
  const value = typeof props.value === "string" ? props.value : "";
  const [scanning, setScanning] = useState(false);
  const draft = useDraft(id, value, onChange, props.onTyping);
  const canScan = window.BarcodeDetector !== undefined && hasCamera();
  return (
    <div class="scan">
      <input
        id={id}
        class="input mono"
        type="text"
        dir="auto"
        autocomplete="off"
        autocapitalize="characters"
        spellcheck={false}
        enterkeyhint="done"
        placeholder={t("scan.type")}
        {...wiring(props)}
        value={draft.text}
        disabled={disabled}
        onInput={(event) => draft.input(event.currentTarget.value)}
        onBlur={draft.flush}
        onKeyDown={(event) => onEnter(event, draft.flush)}
      />
      {canScan && (
        <button type="button" class="button" disabled={disabled} aria-describedby={props.labelledBy} onClick={() => setScanning(true)}>
          <Icon name="scan" />
          {t(value === "" ? "scan.start" : "scan.again")}
        </button>
      )}
      {scanning && (
        <ScanDialog
          onClose={() => setScanning(false)}
          onCode={(code) => {
            setScanning(false);
            draft.input(code);
            draft.flush();
          }}
        />
      )}
    </div>
  );
}

function ScanDialog({ onCode, onClose }: { onCode(code: string): void; onClose(): void }) {
  const video = useRef<HTMLVideoElement>(null);
  const camera = useCamera(video);
  useEffect(() => {
    if (camera !== "on" || window.BarcodeDetector === undefined) return;
    const detector = new window.BarcodeDetector();
    let looking = false;
    const timer = window.setInterval(async () => {
      if (looking || video.current === null) return;
      looking = true;
      const [found] = await detector.detect(video.current).catch(() => []);
      looking = false;
      if (found?.rawValue) onCode(found.rawValue);
    }, SCAN_MS);
    return () => window.clearInterval(timer);
  }, [camera]);
  return (
    <Dialog title={t("scan.start")} onClose={onClose}>
      {camera === "failed" ? (
        <Message tone="warn" icon="alert">
          <p>{t("scan.no_camera")}</p>
        </Message>
      ) : (
        <>
          <video ref={video} class="camera" playsInline muted aria-hidden="true" />
          <p class="quiet">{t("scan.aim")}</p>
        </>
      )}
    </Dialog>
  );
}
