import { useEffect, useRef, useState } from "preact/hooks";

import { t } from "../language";
import { Icon } from "./icon";

interface SignaturePadProps {
  id: string;
  drawing: string | null;
  disabled: boolean;
  onDraw(drawing: Blob | null): Promise<void> | void;
  /** Receives a function that stores the drawing immediately, without waiting for the pause. */
  settle?: { current: () => Promise<void> } | undefined;
}

type Point = readonly [x: number, y: number];

const INK = "#10233a";
const PAPER = "#ffffff";
/** The drawing has twice the screen's resolution, for printing. */
const SCALE = 2;

/** A signature has several strokes: it is stored after a pause, not after each stroke. */
const REST_MS = 700;

/** A canvas for finger, pen or mouse, always dark on white. */
export function SignaturePad({ id, drawing, disabled, onDraw, settle }: SignaturePadProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const strokes = useRef<Point[][]>([]);
  const timer = useRef(0);
  const handOver = useRef(onDraw);
  handOver.current = onDraw;
  const [drawn, setDrawn] = useState(false);
  const kept = drawing !== null && !drawn;

  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    // The size changes when a phone is turned; the drawing stays.
    const observer = new ResizeObserver(() => paint(element, strokes.current));
    observer.observe(element);
    return () => observer.disconnect();
  }, [kept]);

  useEffect(() => {
    // Leaving the page also ends the signature.
    const onHide = () => void hand();
    document.addEventListener("visibilitychange", onHide);
    return () => {
      document.removeEventListener("visibilitychange", onHide);
      onHide();
    };
  }, []);

  const at = (event: PointerEvent): Point => {
    const box = canvas.current?.getBoundingClientRect();
    return [event.clientX - (box?.left ?? 0), event.clientY - (box?.top ?? 0)];
  };
  const down = (event: PointerEvent) => {
    if (disabled || event.button !== 0) return;
    canvas.current?.setPointerCapture(event.pointerId);
    strokes.current.push([at(event)]);
    setDrawn(true);
    repaint();
  };
  const move = (event: PointerEvent) => {
    if (!canvas.current?.hasPointerCapture(event.pointerId)) return;
    const stroke = strokes.current.at(-1);
    for (const part of event.getCoalescedEvents?.() ?? [event]) stroke?.push(at(part));
    repaint();
  };
  const hand = async () => {
    if (timer.current === 0) return;
    window.clearTimeout(timer.current);
    timer.current = 0;
    const picture = await new Promise<Blob | null>((done) => (canvas.current ? canvas.current.toBlob(done, "image/png") : done(null)));
    if (picture !== null) await handOver.current(picture);
  };
  if (settle !== undefined) settle.current = hand;
  const up = () => {
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => void hand(), REST_MS);
  };
  const repaint = () => canvas.current && paint(canvas.current, strokes.current);
  const clear = () => {
    window.clearTimeout(timer.current);
    timer.current = 0;
    strokes.current = [];
    setDrawn(false);
    repaint();
    void onDraw(null);
  };

  return (
    <div class="field">
      <div class="pad-head">
        <span class="label" id={`${id}-label`}>
          {t("signature.draw")}
        </span>
        {/* It always takes its room: nothing may move while a finger draws. */}
        <button type="button" class={drawn || kept ? "button button-quiet" : "button button-quiet is-reserved"} disabled={disabled} onClick={clear}>
          {t("signature.clear")}
        </button>
      </div>
      <div class="pad">
        {kept ? (
          <img src={drawing} alt={t("signature.title")} />
        ) : (
          <canvas
            ref={canvas}
            role="img"
            aria-label={t("signature.pad")}
            aria-describedby={`${id}-hint`}
            onPointerDown={down}
            onPointerMove={move}
            onPointerUp={up}
          />
        )}
        {!drawn && !kept && (
          <span class="pad-hint" aria-hidden="true">
            <Icon name="pen" />
          </span>
        )}
      </div>
      <p class="hint" id={`${id}-hint`}>
        {t("signature.draw_hint")}
      </p>
    </div>
  );
}

function paint(canvas: HTMLCanvasElement, strokes: readonly (readonly Point[])[]): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== width * SCALE || canvas.height !== height * SCALE) {
    canvas.width = width * SCALE;
    canvas.height = height * SCALE;
  }
  context.setTransform(SCALE, 0, 0, SCALE, 0, 0);
  context.fillStyle = PAPER;
  context.fillRect(0, 0, width, height);
  context.strokeStyle = INK;
  context.lineWidth = 2.5;
  context.lineCap = "round";
  context.lineJoin = "round";
  for (const stroke of strokes) {
    const [first, ...rest] = stroke;
    if (first === undefined) continue;
    context.beginPath();
    context.moveTo(...first);
    // A dot is a line of length zero.
    if (rest.length === 0) context.lineTo(...first);
    for (const point of rest) context.lineTo(...point);
    context.stroke();
  }
}
