// Which routes this server has, from its own description. It is asked once, when somebody wants to know.
import { signal } from "@preact/signals";
import { get } from "../wire/api";

interface Operation { parameters?: { name: string }[] }
const paths = signal<Record<string, Record<string, Operation>> | null>(null);
let asked = false;

/** Whether the server has a route, and a query of that name for reading it; false until it has said so. */
export function offers(path: string, query = ""): boolean {
  if (!asked) {
    asked = true;
    void get<{ paths: Record<string, Record<string, Operation>> }>("/openapi.json").then((d) => { paths.value = Object.fromEntries(Object.entries(d.paths).map(([path, o]) => [path.replace("...}", "}"), o])); }, () => { asked = false; });
  }
  const found = paths.value?.[path];
  return found !== undefined && (query === "" || (found["get"]?.parameters ?? []).some((p) => p.name === query));
}
