import { Icon } from "../../kit/controls/icon";
import { t } from "../../kit/language";

interface ErrorSummaryProps {
  title?: string;
  items: readonly { key: string; text: string; onGo(): void }[];
  focus: { current: HTMLDivElement | null };
}

/** All problems with links to their fields. It gets the focus after a failed submit. */
export function ErrorSummary({ title, items, focus }: ErrorSummaryProps) {
  return (
    <div ref={focus} class="message is-bad summary" tabIndex={-1} role="group" aria-labelledby="summary-title">
      <Icon name="alert" />
      <div class="message-text">
        <h2 id="summary-title" class="message-title">
          {title ?? t("problem.summary", { count: items.length })}
        </h2>
        <ul class="links">
          {items.map(({ key, text, onGo }) => (
            <li key={key}>
              <button type="button" class="link" onClick={onGo}>
                <span dir="auto">{text}</span>
              </button>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
