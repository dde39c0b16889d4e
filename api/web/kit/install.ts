/** Native apps of this installation, from the page's head; usually none. */

export interface Store {
  kind: "apple" | "google";
  address: string;
}

/** The store of this device's platform first. */
export function appStores(page: Document = document): Store[] {
  const kinds = /android/i.test(navigator.userAgent) ? (["google", "apple"] as const) : (["apple", "google"] as const);
  return kinds.flatMap((kind) => {
    const address = page.querySelector<HTMLMetaElement>(`meta[name="install-${kind}"]`)?.content ?? "";
    return address.startsWith("https://") ? [{ kind, address }] : [];
  });
}
