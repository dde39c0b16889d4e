import { Component, type ComponentChildren } from "preact";

/** Renders again only if a prop has changed: for rows of long lists. */
export function memo<Props extends object>(Draw: (props: Props) => ComponentChildren) {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const before = this.props as Readonly<Record<string, unknown>>;
      return Object.entries(next).some(([name, value]) => name !== "children" && before[name] !== value);
    }

    override render() {
      return <Draw {...(this.props as Props)} />;
    }
  };
}
