import { t } from "../language";
import { Dialog } from "./dialog";
import { Icon } from "./icon";
import { FieldError } from "./messages";
import { type ShownPhoto, stateText } from "./photo";
import { PhotoPicture } from "./photo_picture";

interface PhotoViewProps {
  photo: ShownPhoto;
  number: number;
  disabled: boolean;
  onClose(): void;
  onRemove(): void;
  onRetake(): void;
}

/** One photo, large, with its actions. */
export function PhotoView({ photo, number, disabled, onClose, onRemove, onRetake }: PhotoViewProps) {
  const name = t("photo.name", { number });
  const later = photo.served === null && photo.state !== "refused" ? t("photo.preview_later") : undefined;
  return (
    <Dialog
      title={name}
      onClose={onClose}
      foot={
        !disabled && (
          <>
            <button type="button" class="button" onClick={onRetake}>
              <Icon name="retake" />
              {t("photo.retake", { number })}
            </button>
            <button type="button" class="button button-quiet is-bad" onClick={onRemove}>
              <Icon name="trash" />
              {t("photo.remove", { number })}
            </button>
          </>
        )
      }
    >
      <PhotoPicture class="photo-large" sources={[photo.url, photo.served?.url]} alt={name} note={later} />
      {photo.state === "refused" ? (
        <FieldError id="photo-view-error">{photo.error ?? t("photo.refused")}</FieldError>
      ) : (
        <p class="quiet">{stateText(photo)}</p>
      )}
    </Dialog>
  );
}
