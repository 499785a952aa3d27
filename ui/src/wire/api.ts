// Requests to the server's public routes (docs/wire/task.md, docs/wire/langgraph.md). Nothing here is a private API.
import { signal } from "@preact/signals";

/** An answer that is no success. status 0 means that there was no answer at all. */
export class Refusal extends Error {
  constructor(readonly status: number, message: string, readonly body: Record<string, unknown> = {}) { super(message); }
}

/** Set when the server wants to know who asks. */
export const keyWanted = signal(false);
let apiKey = sessionStorage.getItem("tributary.key") ?? "";

export function giveKey(key: string): void {
  apiKey = key.trim();
  sessionStorage.setItem("tributary.key", apiKey);
  keyWanted.value = false;
}

export function headers(more: Record<string, string> = {}): Record<string, string> {
  return apiKey === "" ? more : { ...more, "X-Api-Key": apiKey };
}

/** Asks, and answers what came back; anything but a 2xx is thrown as a Refusal. */
export async function send(method: string, path: string, body?: unknown, options: { signal?: AbortSignal; keepalive?: boolean } = {}): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method, ...options,
      headers: headers(body === undefined ? { Accept: "application/json" } : { Accept: "application/json", "Content-Type": "application/json" }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new Refusal(0, "no connection");
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

export async function refusal(answer: Response): Promise<Refusal> {
  if (answer.status === 401) keyWanted.value = true;
  const body = await answer.json().catch(() => ({})) as Record<string, unknown>;
  const detail = body["detail"];
  return new Refusal(answer.status, typeof detail === "string" ? detail : answer.statusText, body);
}

export async function get<T>(path: string): Promise<T> {
  return await (await send("GET", path)).json() as T;
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return await (await send("POST", path, body)).json() as T;
}

/** A fresh id. crypto.randomUUID is there only on secure origins; a page on a plain address in the house has none. */
export function newID(): string {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = (b[6]! & 0x0f) | 0x40;
  b[8] = (b[8]! & 0x3f) | 0x80;
  const hex = [...b].map((x) => x.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
