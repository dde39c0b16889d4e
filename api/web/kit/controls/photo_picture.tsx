import { useEffect, useState } from "preact/hooks";

import { t } from "../language";
import { Icon } from "./icon";

interface PhotoPictureProps {
  /** URLs of the picture, best first; empty ones are skipped. */
  sources: readonly (string | undefined)[];
  alt: string;
  class?: string;
  lazy?: boolean;
  /** A text shown below "No preview" if there is room. */
  note?: string | undefined;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * A photo from the first source that the browser can display: not every browser displays the HEIC that it has sent, and
 * offline a device has no picture from another one. If none works, a placeholder is shown.
 */
export function PhotoPicture({ sources, alt, class: name = "", lazy = false, note }: PhotoPictureProps) {
  const [failed, setFailed] = useState(NONE);
  const known = sources.filter((source) => source !== undefined && source !== "");
  const source = known.find((one) => one !== undefined && !failed.has(one));
  const anyFailed = failed.size > 0;
  useEffect(() => {
    if (!anyFailed) return;
    const again = () => setFailed(NONE);
    window.addEventListener("online", again);
    return () => window.removeEventListener("online", again);
  }, [anyFailed]);

  if (source !== undefined) {
    const fail = () => setFailed((before) => new Set(before).add(source));
    return <img class={name} src={source} alt={alt} loading={lazy ? "lazy" : "eager"} decoding="async" onError={fail} />;
  }
  return (
    <span class={`no-picture ${name}`}>
      <Icon name="image" />
      {alt !== "" && <span class="vh">{alt}: </span>}
      {/* Without any source it is still being read from the device. */}
      {known.length > 0 && <span>{t("photo.no_preview")}</span>}
      {known.length > 0 && note && <span class="small">{note}</span>}
    </span>
  );
}
