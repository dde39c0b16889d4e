/**
 * Drags a step with the mouse or a finger: a line shows the target; Escape or a drop elsewhere cancels. Rows have their
 * position in `data-row="2.5"` (section.step), empty lists in `data-list="2"`.
 */
import type { Where } from "../../../core/authoring";

const EDGE = 80;
const SPEED = 14;

export function startDrag(event: PointerEvent, onDrop: (to: Where) => void): void {
  const grip = event.currentTarget;
  if (!(grip instanceof HTMLElement) || event.button !== 0) return;
  event.preventDefault();
  const row = grip.closest<HTMLElement>("[data-row]");
  const line = document.createElement("div");
  line.className = "drop-line";
  line.hidden = true;
  document.body.append(line);
  row?.classList.add("is-dragged");
  let target: Where | null = null;
  let [x, y] = [event.clientX, event.clientY];
  let frame = requestAnimationFrame(scroll);

  function look(): void {
    const found = placeAt(x, y);
    target = found?.to ?? null;
    line.hidden = found === null;
    if (found === null) return;
    line.style.top = `${found.y - 2}px`;
    line.style.left = `${found.box.left}px`;
    line.style.width = `${found.box.width}px`;
  }
  function scroll(): void {
    const by = y < EDGE ? -SPEED : y > innerHeight - EDGE ? SPEED : 0;
    if (by !== 0) {
      scrollBy(0, by);
      look();
    }
    frame = requestAnimationFrame(scroll);
  }
  function onMove(moved: PointerEvent): void {
    [x, y] = [moved.clientX, moved.clientY];
    look();
  }
  function onKey(pressed: KeyboardEvent): void {
    if (pressed.key !== "Escape") return;
    target = null;
    end();
  }
  function onUp(): void {
    const to = target;
    end();
    if (to !== null) onDrop(to);
  }
  function end(): void {
    cancelAnimationFrame(frame);
    line.remove();
    row?.classList.remove("is-dragged");
    removeEventListener("pointermove", onMove);
    removeEventListener("pointerup", onUp);
    removeEventListener("pointercancel", end);
    removeEventListener("keydown", onKey, true);
  }
  addEventListener("pointermove", onMove);
  addEventListener("pointerup", onUp);
  addEventListener("pointercancel", end);
  addEventListener("keydown", onKey, true);
}

function placeAt(x: number, y: number): { to: Where; y: number; box: DOMRect } | null {
  const under = document.elementFromPoint(x, y);
  const row = under?.closest<HTMLElement>("[data-row]");
  if (row) {
    const box = row.getBoundingClientRect();
    const [section = 0, step = 0] = (row.dataset["row"] ?? "").split(".").map(Number);
    const below = y > box.top + box.height / 2;
    return { to: { section, step: step + Number(below) }, y: below ? box.bottom : box.top, box };
  }
  const list = under?.closest<HTMLElement>("[data-list]");
  if (!list) return null;
  const box = list.getBoundingClientRect();
  const rows = list.querySelectorAll("[data-row]");
  const last = rows.item(rows.length - 1);
  return { to: { section: Number(list.dataset["list"]), step: rows.length }, y: last === null ? box.top + 8 : last.getBoundingClientRect().bottom, box };
}
