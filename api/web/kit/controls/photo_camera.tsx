import { useRef, useState } from "preact/hooks";

import { t } from "../language";
import { exifOfTime } from "../photos/exif_time";
import { withExif } from "../photos/exif";
import { useCamera } from "./camera";
import { Dialog } from "./dialog";
import { Icon } from "./icon";
import { Message } from "./messages";
import type { ShownPhoto } from "./photo";
import { PhotoPicture } from "./photo_picture";

interface PhotoCameraProps {
  photos: readonly ShownPhoto[];
  /** How many more photos the step takes. */
  room: number;
  /** The photo to take again; the camera closes after that. */
  retaken: string | null;
  /** `instead`: the photo that the new one replaces. */
  onPhoto(photo: Blob, instead: string | null): void;
  /** The camera app of a phone, for a camera that the page cannot use. */
  onApp: (() => void) | null;
  onClose(): void;
}

/** A camera in the page. It stays open for several photos, which are stored and sent meanwhile. */
export function PhotoCamera({ photos, room, retaken, onPhoto, onApp, onClose }: PhotoCameraProps) {
  const video = useRef<HTMLVideoElement>(null);
  const state = useCamera(video);
  const [chosen, setChosen] = useState(retaken);
  const [shots, setShots] = useState(0);
  const number = photos.findIndex((photo) => photo.key === chosen) + 1;
  const instead = number > 0 ? chosen : null;
  const isFull = room <= 0 && instead === null;
  const shoot = () => {
    const picture = video.current;
    if (picture === null) return;
    const canvas = document.createElement("canvas");
    canvas.width = picture.videoWidth;
    canvas.height = picture.videoHeight;
    canvas.getContext("2d")?.drawImage(picture, 0, 0);
    const at = new Date();
    setShots(shots + 1);
    setChosen(null);
    canvas.toBlob((photo) => photo !== null && onPhoto(withExif(photo, exifOfTime(at)), instead), "image/jpeg", 0.9);
    if (retaken !== null) onClose();
  };
  if (state === "failed") {
    return (
      <Dialog
        title={t("photo.take")}
        onClose={onClose}
        foot={
          onApp && (
            <button type="button" class="button button-primary" onClick={onApp}>
              <Icon name="camera" />
              {t("photo.camera_app")}
            </button>
          )
        }
      >
        <Message tone="warn" icon="alert">
          <p>{t("photo.no_camera")}</p>
        </Message>
      </Dialog>
    );
  }
  return (
    <Dialog
      title={t("photo.take")}
      class="camera-dialog"
      onClose={onClose}
      foot={
        <>
          <button type="button" class="button button-primary" disabled={state !== "on" || isFull} onClick={shoot}>
            <Icon name={instead === null ? "camera" : "retake"} />
            {instead === null ? t("photo.take") : t("photo.retake", { number })}
          </button>
          <button type="button" class="button" onClick={onClose}>
            {t("app.done")}
          </button>
        </>
      }
    >
      <div key={shots} class={shots > 0 ? "camera-frame is-shot" : "camera-frame"} />
      <video ref={video} class="camera" playsInline muted aria-hidden="true" />
      <p class="hint camera-count" role="status">
        {isFull ? t("photo.full") : photos.length > 0 ? t("photo.have", { count: photos.length }) : ""}
      </p>
      {photos.length > 0 && (
        <ul class="shots">
          {photos.map((photo, index) => (
            <li key={photo.key}>
              <button
                type="button"
                class="shot"
                aria-pressed={photo.key === instead}
                aria-label={t("photo.retake", { number: index + 1 })}
                onClick={() => setChosen(photo.key === instead ? null : photo.key)}
              >
                <PhotoPicture sources={[photo.thumbnailUrl, photo.served?.thumbnailUrl]} alt="" />
              </button>
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}
