// Pages that most people never open are loaded when they are.
import { signal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";
import { t } from "../i18n";
import type { Place } from "../route";
import type { Conversation } from "../store/conversation";

function lazy<P extends object>(load: () => Promise<ComponentType<P>>, part = false): (props: P) => JSX.Element {
  const loaded = signal<ComponentType<P> | null>(null);
  let asked = false;
  return (props) => {
    if (!asked) { asked = true; void load().then((c) => { loaded.value = c; }); }
    const Page = loaded.value;
    if (!Page && part) return <p class="meta">{t("loading")}</p>;
    return Page ? <Page {...props} /> : <main class="conversation"><p class="empty">{t("loading")}</p></main>;
  };
}

export const Components = lazy(() => import("./components").then((m) => m.ComponentsPage));
export const Inspector = lazy<{ id: string; seq: number | null }>(() => import("./inspector").then((m) => m.InspectorPage));
export const Report = lazy<{ conversation: Conversation; task: string }>(() => import("./report").then((m) => m.ReportPane), true);
export const Shelf = lazy<{ place: Place }>(() => import("./shelves").then((m) => m.ShelfPage));
export const Preview = lazy<{ address: string; name: string }>(() => import("./preview").then((m) => m.FilePreview), true);
