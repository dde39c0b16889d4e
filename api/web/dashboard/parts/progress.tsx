interface ProgressProps {
  /** The activity: "Replaying". */
  label: string;
  value: number;
  /** null: unknown. */
  max: number | null;
  /** The progress as text, e.g. "312 of 1,000"; by default made from value and max. */
  text?: string;
}

const NUMBER = new Intl.NumberFormat("en");

/** `12,345` */
export function count(value: number): string {
  return NUMBER.format(value);
}

/** `1 run`, `12,345 runs` */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function Progress({ label, value, max, text }: ProgressProps) {
  return (
    <div class="progress">
      <div class="progress-words">
        <span>{label}</span>
        <span class="quiet tabular">{text ?? (max === null ? count(value) : `${count(value)} of ${count(max)}`)}</span>
      </div>
      <progress aria-label={label} {...(max === null ? {} : { max: Math.max(max, 1), value: Math.min(value, Math.max(max, 1)) })} />
    </div>
  );
}
