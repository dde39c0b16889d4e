/** The native apps that this installation names, as the server wrote them into the page's head; usually none. */

export interface Store {
  kind: "apple" | "google";
  address: string;
}

export function appStores(page: Document = document): Store[] {
  return (["apple", "google"] as const).flatMap((kind) => {
    const address = page.querySelector<HTMLMetaElement>(`meta[name="install-${kind}"]`)?.content ?? "";
    return address.startsWith("https://") ? [{ kind, address }] : [];
  });
}
