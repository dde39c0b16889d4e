import { useEffect, useState } from "preact/hooks";

import { t } from "../../kit/language";

const SLOW_MS = 5_000;

/** Keeps the server-rendered content, which describes the checklist. */
export function Loading() {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setSlow(true), SLOW_MS);
    return () => window.clearTimeout(timer);
  }, []);
  const text = (
    <div class="loading" role="status">
      <span class="spinner" aria-hidden="true" />
      <div>
        <p>{t("loading.title")}</p>
        {slow && <p class="quiet">{t("loading.slow")}</p>}
      </div>
    </div>
  );
  if (document.getElementById("preview") !== null) return <aside>{text}</aside>;
  return (
    <main id="content">
      <h1 class="vh">{t("app.name")}</h1>
      {text}
    </main>
  );
}
