import { Icon } from "../../kit/controls/icon";
import { LANGUAGES, type Language } from "../../kit/i18n";
import { chooseLanguage, language, t } from "../../kit/language";

/** Each language by its own name. */
export function LanguageChoice({ id }: { id: string }) {
  return (
    <div class="language">
      <label for={id}>
        <Icon name="globe" />
        {t("app.language")}
      </label>
      <select
        id={id}
        class="input"
        value={language.value}
        onChange={(event) => void chooseLanguage(event.currentTarget.value as Language)}
      >
        {Object.entries(LANGUAGES).map(([code, name]) => (
          <option key={code} value={code} lang={code}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
