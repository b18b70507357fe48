import type { ReactNode } from "react";

const paths = {
  send: "M4.5 12 3 4.5l18 7.5-18 7.5L4.5 12Zm0 0H12",
  reply: "M9 14 4 9l5-5M4 9h9a7 7 0 0 1 7 7v3",
  smile: "M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18ZM8.5 14a4.2 4.2 0 0 0 7 0M9 9.5h.01M15 9.5h.01",
  edit: "M4 20h4L19 9l-4-4L4 16v4ZM13.5 6.5l4 4",
  trash: "M4 7h16M10 11v6M14 11v6M6 7l1 13h10l1-13M9 7V4h6v3",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "m5 12.5 4.5 4.5L19 7.5",
  checks: "m2.5 12.5 4.5 4.5L16.5 7.5M12.5 16l1 1L23 7.5",
  clock: "M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18ZM12 7.5V12l3 2",
  alert: "M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18ZM12 8v4.5M12 16h.01",
  down: "M12 5v14M6 13l6 6 6-6",
  back: "M19 12H5M11 6l-6 6 6 6",
  bell: "M6 16V11a6 6 0 1 1 12 0v5l1.5 2h-15L6 16ZM10 20.5a2.2 2.2 0 0 0 4 0",
  bellOff: "M9.2 5.7A6 6 0 0 1 18 11v4M6.4 9A6 6 0 0 0 6 11v5l-1.5 2H18M10 20.5a2.2 2.2 0 0 0 4 0M4 4l16 16",
  archive: "M4 4h16v4H4zM5.5 8v11h13V8M10 12h4",
  restore: "M4 4h16v4H4zM5.5 8v11h13V8M12 17v-6M9.5 13.5 12 11l2.5 2.5",
  close: "M6 6l12 12M18 6 6 18",
  pin: "M9 4h6l-.5 6 3.5 3H6l3.5-3L9 4ZM12 13v7",
  chat: "M4 5h16v11H10l-4.5 4v-4H4V5Z",
  attach:
    "M20 11.5 12.5 19a4.6 4.6 0 0 1-6.5-6.5L14 4.5a3 3 0 0 1 4.3 4.3l-7.6 7.6a1.5 1.5 0 0 1-2.1-2.1l6.9-6.9",
  microphone: "M12 15a3 3 0 0 0 3-3V6a3 3 0 0 0-6 0v6a3 3 0 0 0 3 3ZM5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3",
  stop: "M7 7h10v10H7z",
  pause: "M9 6v12M15 6v12",
  play: "M8 5.5v13l10-6.5-10-6.5Z",
  file: "M6 3h8l4 4v14H6V3ZM14 3v4h4",
  next: "M5 12h14M13 6l6 6-6 6",
  flag: "M6 21V4M6 4h12l-2.5 4L18 12H6",
  search: "M11 18a7 7 0 1 1 0-14 7 7 0 0 1 0 14ZM20 20l-4-4",
  filter: "M4 7h16M7 12h10M10 17h4",
  dot: "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z",
} as const;

export type IconName = keyof typeof paths;

// These show a direction along the line of writing.
const mirrored = new Set<IconName>(["send", "reply", "back", "next"]);

/** A line icon in the colour of the text. Decorative: the control that has it needs a label. */
export function Icon({ name }: { name: IconName }): ReactNode {
  return (
    <svg
      className="td-icon"
      data-mirrored={mirrored.has(name) || undefined}
      viewBox="0 0 24 24"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
