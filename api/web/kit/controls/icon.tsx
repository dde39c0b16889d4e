/** Line icons on a 24 px grid. Decorative: the text next to an icon has the same meaning. */

const PATHS = {
  check: "M5 12.5l4.5 4.5L19 7.5",
  circle: "M12 4a8 8 0 1 0 0 16a8 8 0 1 0 0-16",
  "check-circle": "M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18M8 12.4l2.8 2.8L16 9.6",
  skip: "M5 6l7 6l-7 6M13 6l6 6l-6 6",
  cloud: "M7 18h10a4 4 0 0 0 .6-7.96A6 6 0 0 0 6.2 9.6A4.3 4.3 0 0 0 7 18",
  offline: "M4 4l16 16M8.5 18H17a4 4 0 0 0 2.6-7M14.5 6.6A6 6 0 0 0 6.6 9.5A4.3 4.3 0 0 0 7 18",
  alert: "M12 4L2.8 19.5h18.4zM12 10v4.5M12 17v.2",
  flag: "M6 21V4M6 4.5h11l-2.5 4l2.5 4H6",
  info: "M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18M12 11v5.5M12 7.6v.2",
  clock: "M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18M12 7v5.3l3.4 2",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  camera: "M4 8h3.5L9 5.5h6L16.5 8H20v11H4zM12 10a3.3 3.3 0 1 0 0 6.6a3.3 3.3 0 1 0 0-6.6",
  image: "M4 5h16v14H4zM4 16l4.5-4.5l4 4l2.5-2.5l5 5M15.5 8.6v.2",
  trash: "M5 7h14M9.5 7V4.5h5V7M7 7l1 12.5h8L17 7",
  pin: "M12 21s6.5-6.2 6.5-11.2a6.5 6.5 0 0 0-13 0C5.5 14.8 12 21 12 21M12 7.6a2.4 2.4 0 1 0 0 4.8a2.4 2.4 0 1 0 0-4.8",
  scan: "M4 8V4h4M16 4h4v4M20 16v4h-4M8 20H4v-4M8 8.5v7M12 8.5v7M16 8.5v7",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13M15.3 15.3L20 20",
  pen: "M4 20l1-4.5L16.5 4L20 7.5L8.5 19z",
  down: "M6 9.5l6 6l6-6",
  next: "M12 5v13M6.5 12.5L12 18l5.5-5.5",
  forward: "M5 12h14M13 6l6 6l-6 6",
  back: "M19 12H5M11 6l-6 6l6 6",
  globe: "M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18M3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18",
  retake: "M5 12a7 7 0 1 1 2 5M5 18.5V13.5h5",
  sign: "M5 12h6M8 9v6M14 15h5",
  copy: "M9 9h10v11H9zM6 15H5V4h10v2",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  key: "M8 8.5a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7M11.5 12H21M17.5 12v3.5",
  person: "M12 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8M4.5 20.5a7.5 7.5 0 0 1 15 0",
  send: "M4 12L20 4l-5 16l-3.5-6.5z",
  filter: "M4 6h16M7 12h10M10 18h4",
  share: "M18 16a3 3 0 1 0 0 6a3 3 0 1 0 0-6M6 9a3 3 0 1 0 0 6a3 3 0 1 0 0-6M8.7 10.6l6.6-4M8.7 13.4l6.6 4M18 2a3 3 0 1 0 0 6a3 3 0 1 0 0-6",
  download: "M12 4v11M7 10.5l5 5l5-5M5 20h14",
  list: "M4 6h3v3H4zM11 7.5h9M4 15h3v3H4zM11 16.5h9",
  single: "M6 3.5h12v17H6zM9.5 8.5h5M9.5 12h5",
  up: "M6 14.5l6-6l6 6",
} as const;

export type IconName = keyof typeof PATHS;

/** Icons that are mirrored in right-to-left text. */
const DIRECTED: ReadonlySet<IconName> = new Set(["skip", "forward", "back"]);

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={DIRECTED.has(name) ? "icon icon-turns" : "icon"} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
