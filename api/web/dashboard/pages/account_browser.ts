/** Short name of a browser from its user agent: "Firefox on Windows". */
const BROWSERS: readonly (readonly [sign: RegExp, name: string])[] = [
  [/Edg(A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/SamsungBrowser\//, "Samsung Internet"],
  [/(Firefox|FxiOS)\//, "Firefox"],
  [/(Chrome|CriOS|Chromium)\//, "Chrome"],
  [/Safari\//, "Safari"],
];
const SYSTEMS: readonly (readonly [sign: RegExp, name: string])[] = [
  [/iPhone/, "iPhone"],
  [/iPad/, "iPad"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
];

export function browserName(client: string | null): string {
  if (client === null) return "Unknown browser";
  const browser = BROWSERS.find(([sign]) => sign.test(client))?.[1];
  const system = SYSTEMS.find(([sign]) => sign.test(client))?.[1];
  if (browser && system) return `${browser} on ${system}`;
  return browser ?? system ?? client.slice(0, 40);
}
