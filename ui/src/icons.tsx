// Line icons on a grid of 24, drawn for this page.
import type { JSX } from "preact";

const paths = {
  logo: "M4 3c0 6 8 6 8 12v6M20 3c0 6-8 6-8 12",
  plus: "M12 5v14M5 12h14",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l4.5 4.5",
  panel: "M4 5h16v14H4zM9.5 5v14",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  up: "M12 19V5M6 11l6-6 6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  stop: "M7.5 7.5h9v9h-9z",
  copy: "M9 9h10v10H9zM15 9V5H5v10h4",
  check: "M5 12.5l4.5 4.5L19 7.5",
  again: "M19 8a8 8 0 1 0 1 5M20 4v4.5h-4.5",
  pencil: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  left: "M14.5 6L9 12l5.5 6",
  right: "M9.5 6l5.5 6-5.5 6",
  chevronDown: "M6 9.5l6 5.5 6-5.5",
  chevronUp: "M6 14.5L12 9l6 5.5",
  close: "M6 6l12 12M18 6L6 18",
  thought: "M4 7h16M4 12h11M4 17h8",
  tool: "M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8",
  agent: "M6 4v6a4 4 0 0 0 4 4h6M6 4m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0M16 14m0 0a2.5 2.5 0 1 0 5 0 2.5 2.5 0 1 0-5 0",
  warn: "M12 4L2.5 20h19zM12 10v4.5M12 17.2v.1",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8v.1",
  trash: "M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13",
  away: "M14 5h5v5M19 5l-8 8M17 14v5H5V7h5",
  inspect: "M4 7h9M4 12h16M4 17h6M17 7h3M14 17h6",
  gear: "M4 8h10M18 8h2M4 16h2M10 16h10M16 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 18a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  offline: "M4 4l16 16M8.5 14.5a5 5 0 0 1 5-1.3M5.5 11a9 9 0 0 1 4-2.3M13 8a9 9 0 0 1 5.500 3M12 18.500v.1",
  play: "M8 5.500v13l10-6.500z",
  pause: "M8 6v12M16 6v12",
  start: "M18 6l-8 6 8 6zM6.500 6v12",
  end: "M6 6l8 6-8 6zM17.500 6v12",
  count: "M9 4L7 20M17 4l-2 16M4 9h16M4 15h16",
  book: "M12 6c-2-1.500-5-1.500-8-1v13c3-.5 6-.5 8 1 2-1.500 5-1.500 8-1V5c-3-.5-6-.5-8 1zM12 6v13",
  key: "M14 14a5 5 0 1 0-4-4l-6 6v4h4v-3h3zM16 8v.1",
  quote: "M9 7c-3 1-4 3-4 6v4h5v-5H7.500M18 7c-3 1-4 3-4 6v4h5v-5h-2.500",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  folder: "M3 6h6l2 2h10v11H3z",
  clip: "M19 11l-7.500 7.500a4.500 4.500 0 0 1-6.500-6.500L13 4a3 3 0 0 1 4.500 4.500L9.500 16.500a1.500 1.500 0 0 1-2-2L14 8",
  terminal: "M4 5h16v14H4zM7.500 9.500l3 2.500-3 2.500M12.500 15h4",
  download: "M12 4v11M7 10.500l5 5 5-5M5 20h14",
  ring: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16z",
  skip: "M5 12h14",
  grip: "M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01",
  comment: "M4 5h16v11H10l-4 4v-4H4z",
  team: "M12 8a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM12 8v5M5.500 21a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM18.500 21a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM7 16.500l5-3.500 5 3.500",
  research: "M4 6l1.500 1.500L8 5M4 12l1.500 1.500L8 11M4 18l1.500 1.500L8 17M12 6h8M12 12h8M12 18h8",
  pin: "M9 4h6l-1 6 4 4H6l4-4zM12 14v7",
  fork: "M6 4v16M6 14c0-4 12-2 12-8M18 6V4M16 6h4",
  chart: "M4 20h16M7 17v-5M12 17V6M17 17v-8",
  memory: "M6 6h12v12H6zM9 2v4M15 2v4M9 18v4M15 18v4M2 9h4M2 15h4M18 9h4M18 15h4",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" width={size} height={size} fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

/** Something is under way. */
export function Spinner(): JSX.Element { return <span class="spinner" aria-hidden="true" />; }
