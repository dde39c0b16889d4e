/** Renders components into a document, for tests with `// @vitest-environment happy-dom`. */
import { type ComponentChild, render } from "preact";
import { act } from "preact/test-utils";
import { onTestFinished } from "vitest";

/** The element that contains the rendered component; it is removed at the end of the test. */
export async function mount(component: ComponentChild): Promise<HTMLElement> {
  const place = document.createElement("main");
  document.body.append(place);
  onTestFinished(() => {
    render(null, place);
    place.remove();
  });
  await act(() => render(component, place));
  return place;
}

/** Does something, and waits until the components have followed. */
export { act };

export function all<Found extends HTMLElement = HTMLElement>(place: ParentNode, selector: string): Found[] {
  return [...place.querySelectorAll<Found>(selector)];
}

/** The only element that matches; throws if there is none, or several. */
export function one<Found extends HTMLElement = HTMLElement>(place: ParentNode, selector: string): Found {
  const [found, ...more] = all<Found>(place, selector);
  if (found === undefined || more.length > 0) throw new Error(`${found === undefined ? "nothing" : `${more.length + 1} elements`} for ${selector}`);
  return found;
}

/** The button with this text or label. */
export function button(place: ParentNode, name: string): HTMLButtonElement {
  const found = all<HTMLButtonElement>(place, "button").find((each) => text(each) === name || each.getAttribute("aria-label") === name);
  if (found === undefined) throw new Error(`no button “${name}”`);
  return found;
}

export function text(element: Element): string {
  return (element.textContent ?? "").replace(/\s+/g, " ").trim();
}
