import { useRef } from "preact/hooks";

import { t } from "../language";
import { useCamera } from "./camera";
import { Dialog } from "./dialog";
import { Icon } from "./icon";
import { Message } from "./messages";

interface PhotoCameraProps {
  onPhoto(photo: Blob): void;
  onClose(): void;
}

/** A camera in the page, for devices whose file chooser has none. */
export function PhotoCamera({ onPhoto, onClose }: PhotoCameraProps) {
  const video = useRef<HTMLVideoElement>(null);
  const state = useCamera(video);
  const shoot = () => {
    const picture = video.current;
    if (picture === null) return;
    const canvas = document.createElement("canvas");
    canvas.width = picture.videoWidth;
    canvas.height = picture.videoHeight;
    canvas.getContext("2d")?.drawImage(picture, 0, 0);
    canvas.toBlob((photo) => photo !== null && onPhoto(photo), "image/jpeg", 0.9);
  };
  return (
    <Dialog
      title={t("photo.take")}
      onClose={onClose}
      foot={
        state !== "failed" && (
          <button type="button" class="button button-primary" disabled={state !== "on"} onClick={shoot}>
            <Icon name="camera" />
            {t("photo.take")}
          </button>
        )
      }
    >
      {state === "failed" ? (
        <Message tone="warn" icon="alert">
          <p>{t("photo.no_camera")}</p>
        </Message>
      ) : (
        <video ref={video} class="camera" playsInline muted aria-hidden="true" />
      )}
    </Dialog>
  );
}
