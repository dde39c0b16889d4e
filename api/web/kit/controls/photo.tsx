import { useComputed } from "@preact/signals";
import { useRef, useState } from "preact/hooks";

import { t, translator } from "../language";
import { intakeOf, addPhotos } from "../photos/intake";
import { hasCamera } from "./camera";
import { Icon } from "./icon";
import { FieldError } from "./messages";
import { PhotoCamera } from "./photo_camera";
import { PhotoNews } from "./photo_news";
import { PhotoPicture } from "./photo_picture";
import { PhotoView } from "./photo_view";

export interface ShownPhoto {
  key: string;
  url: string;
  thumbnailUrl: string;
  /** URLs of the service. */
  served: { url: string; thumbnailUrl: string } | null;
  state: "kept" | "uploading" | "sent" | "refused";
  /** 0 to 1. */
  progress: number;
  error: string | null;
}

interface PhotoProps {
  id: string;
  labelledBy: string;
  describedBy?: string | undefined;
  photos: readonly ShownPhoto[];
  min: number;
  max: number;
  disabled?: boolean;
  /** Replaces the photos with the keys `instead`. */
  onAdd(photo: Blob, instead: readonly string[]): Promise<void> | void;
  onRemove(key: string): Promise<void> | void;
}

/** Thumbnails, and two ways to add a photo: camera and file chooser. */
export function PhotoControl(props: PhotoProps) {
  const { id, labelledBy, describedBy, photos, min, max, disabled, onAdd, onRemove } = props;
  const camera = useRef<HTMLInputElement>(null);
  /** The photo to be replaced by the next one of the camera app. */
  const retaken = useRef<string | null>(null);
  /** The open camera, with the photo to take again. */
  const [shooting, setShooting] = useState<{ retaken: string | null } | null>(null);
  const [shown, setShown] = useState<string | null>(null);
  const intake = useComputed(() => intakeOf(id)).value;
  const refused = photos.filter((photo) => photo.state === "refused");
  /** Refused photos do not count. */
  const have = photos.length - refused.length;
  const room = max - have - intake.waiting;

  const add = async (files: readonly Blob[], replaced: string | null) => {
    const taken = files.slice(0, replaced === null ? room : 1);
    await addPhotos(id, {
      photos: taken,
      refusal: files.length > taken.length ? "too_many" : null,
      keep: (photo) => onAdd(photo, replaced === null ? [] : [replaced]),
    });
  };
  const pick = (event: Event & { currentTarget: HTMLInputElement }) => {
    const files = [...(event.currentTarget.files ?? [])];
    // Allows choosing the same file again.
    event.currentTarget.value = "";
    const replaced = retaken.current;
    retaken.current = null;
    void add(files, replaced);
  };
  const openApp = (instead: string | null) => {
    setShooting(null);
    retaken.current = instead;
    camera.current?.click();
  };
  const take = (instead: string | null = null) => {
    if (hasCamera()) setShooting({ retaken: instead });
    else openApp(instead);
  };

  const remove = async (key: string) => {
    await onRemove(key);
    // The focused element is removed; this is the next action.
    requestAnimationFrame(() => document.getElementById(id)?.focus());
  };

  const viewed = photos.findIndex((photo) => photo.key === shown);
  const photo = photos[viewed];
  return (
    <div class="photos" role="group" aria-labelledby={labelledBy} aria-describedby={describedBy}>
      {photos.length > 0 && (
        <ul class="thumbs">
          {photos.map((one, index) => (
            <li key={one.key}>
              <Thumb photo={one} number={index + 1} onOpen={() => setShown(one.key)} />
            </li>
          ))}
        </ul>
      )}
      {room > 0 && (
        <div class="photo-buttons">
          <button type="button" id={id} class="button" disabled={disabled} aria-describedby={`${id}-count`} onClick={() => take()}>
            <Icon name="camera" />
            {t(have === 0 ? "photo.take" : "photo.take_another")}
          </button>
          <label class="button photo-file">
            <input type="file" accept={ACCEPTED} multiple={room > 1} class="vh" disabled={disabled} onClick={() => (retaken.current = null)} onChange={pick} />
            <Icon name="image" />
            <span>{t("photo.choose")}</span>
          </label>
        </div>
      )}
      <input ref={camera} type="file" accept="image/*" capture="environment" hidden onChange={pick} tabIndex={-1} />
      <p id={`${id}-count`} class="hint photo-count">
        {countText(have, min, max)}
        {have >= min && min > 0 && refused.length === 0 && <Icon name="check" />}
      </p>
      {refused.map((photo) => (
        <FieldError key={photo.key} id={`${id}-${photo.key}`} class="photo-refused">
          {t("photo.name", { number: photos.indexOf(photo) + 1 })}: {photo.error ?? t("photo.refused")}
        </FieldError>
      ))}
      <PhotoNews id={id} intake={intake} max={max} />
      {shooting !== null && (
        <PhotoCamera
          photos={photos.filter((one) => one.state !== "refused")}
          room={room}
          retaken={shooting.retaken}
          onPhoto={(taken, instead) => void add([taken], instead)}
          onApp={isPhone() ? () => openApp(shooting.retaken) : null}
          onClose={() => setShooting(null)}
        />
      )}
      {photo && (
        <PhotoView
          photo={photo}
          number={viewed + 1}
          disabled={disabled ?? false}
          onClose={() => setShown(null)}
          onRemove={() => {
            setShown(null);
            void remove(photo.key);
          }}
          onRetake={() => {
            setShown(null);
            take(photo.key);
          }}
        />
      )}
    </div>
  );
}

const ACCEPTED = "image/jpeg,image/png,image/webp,image/heic,image/heif";

function Thumb({ photo, number, onOpen }: { photo: ShownPhoto; number: number; onOpen(): void }) {
  return (
    <button type="button" class={`thumb is-${photo.state}`} onClick={onOpen}>
      <PhotoPicture sources={[photo.thumbnailUrl, photo.served?.thumbnailUrl]} alt="" lazy />
      <span class="vh">{t("photo.view", { number })}: </span>
      <span class="thumb-state">
        <Icon name={photo.state === "sent" ? "check" : photo.state === "refused" ? "alert" : "cloud"} />
        <span>{stateText(photo)}</span>
      </span>
      {photo.state === "uploading" && (
        <span class="thumb-bar" aria-hidden="true">
          <span style={{ inlineSize: `${Math.round(photo.progress * 100)}%` }} />
        </span>
      )}
    </button>
  );
}

export function stateText(photo: ShownPhoto): string {
  if (photo.state === "uploading") return t("photo.uploading", { percent: translator.value.percent(photo.progress) });
  return t(`photo.${photo.state}`);
}

function countText(have: number, min: number, max: number): string {
  if (have === 0) return min > 0 ? t("photo.needed", { count: min }) : t("photo.up_to", { count: max });
  if (have < min) return t("photo.have_of_needed", { have, needed: min });
  if (have >= max) return t("photo.full");
  return `${t("photo.have", { count: have })} · ${t("photo.up_to", { count: max })}`;
}

/** A phone's file chooser can open the camera app. */
function isPhone(): boolean {
  return matchMedia("(pointer: coarse)").matches;
}
