// Commands and threads, found by typing a part of them.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Icon, type IconName } from "../icons";
import { t } from "../i18n";
import { theme } from "../prefs";
import { go, route } from "../route";
import { find, pin, remove, threads } from "../store/threads";
import { Dialog } from "./dialog";
import { shelves, startRename } from "./rail";
import { openKeys, openSettings } from "./settings";

const shown = signal(false);
export function openPalette(): void { shown.value = true; }

interface Command { icon: IconName; name: string; keys?: string; run: () => void }

function commands(): Command[] {
  const r = route.value;
  const thread = r.name === "thread" ? find(r.id) : undefined;
  return [
    { icon: "plus", name: t("newQuestion"), keys: "Ctrl Shift O", run: () => go({ name: "new" }) },
    ...(thread ? [
      { icon: "pencil", name: t("rename"), run: () => startRename(thread.id) } as Command,
      { icon: "trash", name: t("remove"), run: () => { remove(thread); go({ name: "new" }); } } as Command,
    ] : []),
    ...(thread ? [{ icon: "pin", name: thread.pinned ? t("unpin") : t("pin"), run: () => void pin(thread.id, !thread.pinned).catch(() => {}) } as Command] : []),
    ...shelves().map((name): Command => ({ icon: "book", name: t(name), run: () => go({ name }) })),
    { icon: "gear", name: `${t("theme")}: ${theme.value === "dark" ? t("light") : t("dark")}`, run: () => { theme.value = theme.value === "dark" ? "light" : "dark"; } },
    { icon: "gear", name: t("settings"), run: openSettings },
    { icon: "key", name: t("keys"), keys: "?", run: openKeys },
    { icon: "book", name: t("apiDocs"), run: () => { location.href = "/docs"; } },
    { icon: "panel", name: t("components"), run: () => go({ name: "components" }) },
  ];
}

export function Palette(): JSX.Element | null {
  return shown.value ? <Open /> : null;
}

function Open(): JSX.Element {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const close = () => { shown.value = false; };
  const found = useMemo(() => {
    const q = query.trim().toLowerCase();
    const list: Command[] = commands().filter((c) => c.name.toLowerCase().includes(q));
    const some = threads.value.filter((x) => x.title.toLowerCase().includes(q)).slice(0, 12)
      .map((x): Command => ({ icon: "quote", name: x.title || t("untitled"), run: () => go({ name: "thread", id: x.id }) }));
    return q === "" ? [...list, ...some] : [...some, ...list];
  }, [query]);
  const run = (c: Command | undefined) => { if (c) { close(); c.run(); } };
  return (
    <Dialog label={t("commands")} close={close} class="palette">
      <input class="palette-input" type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={found[at] ? "palette-" + at : undefined}
        aria-label={t("palette")} placeholder={t("palette")} value={query} autofocus onInput={(e) => { setQuery(e.currentTarget.value); setAt(0); }}
        onKeyDown={(e) => {
          if (e.isComposing) return;
          if (e.key === "ArrowDown") { e.preventDefault(); setAt(Math.min(found.length - 1, at + 1)); }
          if (e.key === "ArrowUp") { e.preventDefault(); setAt(Math.max(0, at - 1)); }
          if (e.key === "Enter") { e.preventDefault(); run(found[at]); }
        }} />
      <ul id="palette-list" role="listbox" aria-label={t("commands")}>
        {found.map((c, i) => (
          <li key={i} id={"palette-" + i} role="option" aria-selected={i === at} class={"list-row" + (i === at ? " selected" : "")} onClick={() => run(c)} onPointerMove={() => setAt(i)}>
            <Icon name={c.icon} /><span class="grow">{c.name}</span>{c.keys && <kbd>{c.keys}</kbd>}
          </li>
        ))}
        {found.length === 0 && <li class="meta" role="presentation">{t("nothingFound")}</li>}
      </ul>
    </Dialog>
  );
}
