import "../kit/tokens.css";
import "../kit/base.css";
import "./styles/dashboard.css";
import "./styles/parts.css";

import { render } from "preact";

import "../kit/english";
import { App } from "./app";
import { loadSession } from "./session";

const root = document.getElementById("app");
if (root !== null) {
  void loadSession();
  render(<App />, root);
}
