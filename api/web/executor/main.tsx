import "../kit/tokens.css";
import "../kit/base.css";
import "../kit/controls/controls.css";
import "./styles/executor.css";
import "./styles/steps.css";

import { effect } from "@preact/signals";
import { render } from "preact";

import { startLanguage } from "../kit/language";
import { App } from "./app";
import { createPage } from "./page";
import { openLink } from "./start";

// After the review the page itself shows the step that was asked for.
history.scrollRestoration = "manual";

const root = document.getElementById("app");
if (root !== null) {
  const store = openLink();
  await startLanguage();
  // What the server wrote for the time until now stays while there is nothing better, and goes before the view is drawn.
  effect(() => {
    if (store.phase.value !== "loading") document.getElementById("preview")?.remove();
  });
  render(<App store={store} page={createPage(store)} />, root);
}
