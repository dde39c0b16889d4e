/** The link of a run, as text and QR code. */
import { useState } from "preact/hooks";

import { Dialog } from "../../kit/controls/dialog";
import { CommandToCopy } from "../parts/copy";
import type { RunLink } from "./runs_types";

const QUIET_ZONE = 4;

interface LinkProps {
  link: string;
  qr: RunLink["qr"];
  /** What the link opens. */
  about: string;
}

export function LinkToGive({ link, qr, about }: LinkProps) {
  const [large, setLarge] = useState(false);
  return (
    <div class="link-to-give">
      <div class="link-to-give-text">
        <CommandToCopy command={link} label="Copy the link" />
        <p class="quiet small">Or let the person scan the code: it contains the same link.</p>
      </div>
      <button type="button" class="qr-button" aria-label="Show the QR code large" onClick={() => setLarge(true)}>
        <QrCode qr={qr} label={`QR code of the link to “${about}”`} />
      </button>
      {large && (
        <Dialog title={about} class="qr-dialog" onClose={() => setLarge(false)}>
          <QrCode qr={qr} label={`QR code of the link to “${about}”`} />
        </Dialog>
      )}
    </div>
  );
}

/** Always dark on white with a quiet zone, for QR readers. */
export function QrCode({ qr, label }: { qr: RunLink["qr"]; label: string }) {
  const whole = qr.size + 2 * QUIET_ZONE;
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${whole} ${whole}`} shape-rendering="crispEdges">
      <rect width={whole} height={whole} fill="#ffffff" />
      <path d={qr.path} transform={`translate(${QUIET_ZONE} ${QUIET_ZONE})`} fill="#000000" />
    </svg>
  );
}
