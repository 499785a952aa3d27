// What a person has chosen for this browser, kept in localStorage, and what follows from it for the document.
import { computed, effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";
export type Motion = "auto" | "off";
export type Announce = "text" | "state" | "off";
export type Lang = "en" | "zh";

/** Storage may be forbidden or full; the page then forgets, and works. */
export const keep = {
  get(key: string): string | null {
    try { return localStorage.getItem("tributary." + key); } catch { return null; }
  },
  set(key: string, value: string): void {
    try {
      if (value === "") localStorage.removeItem("tributary." + key);
      else localStorage.setItem("tributary." + key, value);
    } catch { /* forgotten */ }
  },
};

function chosen<T extends string>(key: string, allowed: readonly T[], usual: T) {
  const was = keep.get(key) as T | null;
  const s = signal<T>(was !== null && allowed.includes(was) ? was : usual);
  effect(() => keep.set(key, s.value === usual && was === null ? "" : s.value));
  return s;
}

export const theme = chosen<Theme>("theme", ["auto", "light", "dark"], "auto");
export const motion = chosen<Motion>("motion", ["auto", "off"], "auto");
export const announce = chosen<Announce>("announce", ["text", "state", "off"], "text");
export const lang = chosen<Lang>("lang", ["en", "zh"], navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
export const railFolded = chosen<"yes" | "no">("rail", ["yes", "no"], "no");

const dark = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(dark.matches);
dark.addEventListener("change", () => { systemDark.value = dark.matches; });

/** Whether the page is dark now. */
export const isDark = computed(() => (theme.value === "auto" ? systemDark.value : theme.value === "dark"));

effect(() => {
  const root = document.documentElement;
  root.dataset["theme"] = isDark.value ? "dark" : "light";
  root.dataset["motion"] = motion.value;
  root.lang = lang.value === "zh" ? "zh-CN" : "en";
});
