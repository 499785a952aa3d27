// Which routes this server has, from its own description. It is asked once, when somebody wants to know.
import { signal } from "@preact/signals";
import { get } from "../wire/api";

const paths = signal<ReadonlySet<string> | null>(null);
let asked = false;

/** Whether the server has a route; false until it has said so. */
export function offers(path: string): boolean {
  if (!asked) {
    asked = true;
    void get<{ paths: Record<string, unknown> }>("/openapi.json").then((d) => { paths.value = new Set(Object.keys(d.paths)); }, () => { asked = false; });
  }
  return paths.value?.has(path) ?? false;
}
