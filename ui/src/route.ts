// Which page is shown: the part of the address after #. Everything that can be opened has an address, so that back,
// reload and a second tab work by themselves.
import { computed, signal } from "@preact/signals";

export type Route =
  | { name: "new" }
  | { name: "thread"; id: string; report?: string }
  | { name: "run"; id: string; seq: number | null }
  | { name: Place };

/** Pages that need nothing but their name. */
const places = ["threads", "components", "agents", "skills", "memory", "models", "tools", "documents", "usage"] as const;
export type Place = (typeof places)[number];

const hash = signal(location.hash);
addEventListener("hashchange", () => { hash.value = location.hash; });

export const route = computed<Route>(() => parse(hash.value));

export function parse(text: string): Route {
  const [path = "", query = ""] = text.replace(/^#\/?/, "").split("?");
  const [head, id = "", pane = "", which = ""] = path.split("/");
  if (head === "t" && /^[0-9a-f-]{36}$/i.test(id)) return { name: "thread", id, ...(pane === "report" && /^[\w-]+$/.test(which) ? { report: which } : {}) };
  if (head === "run" && /^[\w-]+$/.test(id)) {
    const seq = new URLSearchParams(query).get("seq");
    return { name: "run", id, seq: seq !== null && /^\d+$/.test(seq) ? Number(seq) : null };
  }
  const place = places.find((p) => p === head);
  return place ? { name: place } : { name: "new" };
}

export function address(to: Route): string {
  switch (to.name) {
    case "thread": return "#/t/" + to.id + (to.report === undefined ? "" : "/report/" + to.report);
    case "run": return "#/run/" + to.id + (to.seq === null ? "" : "?seq=" + to.seq);
    case "new": return "#/";
    default: return "#/" + to.name;
  }
}

export function go(to: Route, replace = false): void {
  const text = address(to);
  if (replace) history.replaceState(null, "", text);
  else if (location.hash !== text) history.pushState(null, "", text);
  hash.value = text;
}

addEventListener("popstate", () => { hash.value = location.hash; });
