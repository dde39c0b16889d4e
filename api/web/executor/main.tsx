import "../kit/tokens.css";
import "../kit/base.css";
import "../kit/controls/controls.css";
import "./styles/executor.css";
import "./styles/steps.css";
import "./styles/stage.css";

import { effect } from "@preact/signals";
import { render } from "preact";

import { startLanguage } from "../kit/language";
import { App } from "./app";
import { keptInput } from "./kept_input";
import { keptPlace } from "./layout";
import { createPage } from "./page";
import { openLink } from "./start";

// After the review, the page scrolls to the requested step itself.
history.scrollRestoration = "manual";

const root = document.getElementById("app");
if (root !== null) {
  const store = openLink();
  await startLanguage();
  // Keeps the server-rendered loading page until there is a view.
  effect(() => {
    if (store.phase.value !== "loading") document.getElementById("preview")?.remove();
  });
  render(<App store={store} page={createPage(store, keptInput(location.pathname), keptPlace(location.pathname))} />, root);
}
