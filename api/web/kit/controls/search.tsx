import { Icon } from "./icon";

interface SearchFieldProps {
  label: string;
  value: string;
  onInput(query: string): void;
}

/** The search of a dialog; it stays at the upper edge. */
export function SearchField({ label, value, onInput }: SearchFieldProps) {
  return (
    <div class="search">
      <Icon name="search" />
      <input
        class="input"
        type="search"
        enterkeyhint="search"
        autocomplete="off"
        aria-label={label}
        placeholder={label}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  );
}

/** Each word of the query must occur in the label; accents and case are ignored. */
export function matches(label: string, query: string): boolean {
  const text = plain(label);
  return plain(query)
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function plain(text: string): string {
  return text.normalize("NFD").replace(/\p{Mn}/gu, "").toLocaleLowerCase();
}
