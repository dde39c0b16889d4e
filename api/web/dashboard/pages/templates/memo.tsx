import { Component, type ComponentChildren } from "preact";

/** Draws again only when one of the props is another one: for the rows of a list of hundreds. */
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
