// What the server says of itself.
import { computed, signal } from "@preact/signals";
import { get } from "../wire/api";

interface Info { version: string; model?: string }

export const info = signal<Info | null>(null);
/** Whether the built-in program answers, and no language model does. */
export const offline = computed(() => info.value?.model === "offline");

export async function learn(): Promise<void> {
  info.value = await get<Info>("/info").catch(() => null);
}
