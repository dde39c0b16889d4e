/**
 * Dates and times as text, in the formats of answers and conditions. Each function returns the normal form, which sorts
 * chronologically, or null for any other format and for dates or times that do not exist.
 */

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^(\d{2}):(\d{2})(?::(\d{2}))?$/;
const DATETIME = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/** `2026-11-21`: a calendar date. */
export function normalDate(text: string): string | null {
  return dayOf(text) === null ? null : text;
}

/** `13:50`, or `13:50:30` if there are non-zero seconds. */
export function normalTime(text: string): string | null {
  if (secondsOf(text) === null) return null;
  return text.endsWith(":00") && text.length > 5 ? text.slice(0, 5) : text;
}

/** `2026-11-21T13:50:00.000Z`: a timestamp with an offset, converted to UTC. */
export function normalDateTime(text: string): string | null {
  const parts = DATETIME.exec(text.toUpperCase());
  if (parts === null) return null;
  const [, date = "", time = "", fraction = "", sign, hours = "00", minutes = "00"] = parts;
  const [day, seconds] = [dayOf(date), secondsOf(time)];
  const offset = secondsOf(`${hours}:${minutes}`);
  if (day === null || seconds === null || offset === null) return null;
  const milliseconds = seconds * 1000 + Number(fraction.slice(0, 3).padEnd(3, "0"));
  const moment = new Date(day + milliseconds - (sign === "-" ? -offset : offset) * 1000);
  // An offset may lead outside the years 1 to 9999.
  const year = moment.getUTCFullYear();
  return year < 1 || year > 9999 ? null : moment.toISOString();
}

/** Days from one calendar date to another; null if one of them does not exist. */
export function daysBetween(from: string, to: string): number | null {
  const [start, end] = [dayOf(from), dayOf(to)];
  return start === null || end === null ? null : Math.round((end - start) / 86_400_000);
}

/** The calendar date so many days after another; null if it is not in the years 1 to 9999. */
export function dayAfter(from: string, days: number): string | null {
  const start = dayOf(from);
  const date = start === null ? null : new Date(start + days * 86_400_000);
  return date === null || Number.isNaN(date.getTime()) ? null : normalDate(date.toISOString().slice(0, 10));
}

/** RFC 3339 with the offset of this device: the text begins with the person's calendar date. */
export function localTimestamp(moment: Date): string {
  const minutes = -Math.round(moment.getTimezoneOffset());
  if (minutes === 0) return moment.toISOString();
  const local = new Date(moment.getTime() + minutes * 60_000).toISOString().slice(0, -1);
  const two = (part: number) => String(part).padStart(2, "0");
  const size = Math.abs(minutes);
  return `${local}${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** The calendar date of a timestamp in its own offset. */
export function dateOf(timestamp: string): string {
  return timestamp.slice(0, 10);
}

/** Milliseconds from 1970 to the start of the day. */
function dayOf(text: string): number | null {
  const [, year, month, day] = (DATE.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined || year < 1) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // Date turns a day that does not exist into one of another month.
  return date.getUTCMonth() === month - 1 ? date.getTime() : null;
}

function secondsOf(text: string): number | null {
  const parts = TIME.exec(text);
  if (parts === null) return null;
  const [hour, minute, second] = [Number(parts[1]), Number(parts[2]), Number(parts[3] ?? 0)];
  return hour > 23 || minute > 59 || second > 59 ? null : (hour * 60 + minute) * 60 + second;
}
