// The library: what this server has beside conversations. Each page reads one or two public routes, and says so where the server
// does not have them.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../icons";
import { money, number, t } from "../i18n";
import { Connection } from "../parts/connection";
import type { Place } from "../route";
import { models } from "../store/choices";
import { get, Refusal } from "../wire/api";
import { AgentsShelf } from "./agents";
import { MemoryShelf } from "./memory";
import { SkillsShelf } from "./skills";
import { ToolsShelf } from "./tools";

export function ShelfPage({ place }: { place: Place }): JSX.Element {
  const word = place as "agents" | "skills" | "memory" | "models" | "tools" | "documents" | "usage";
  return (
    <main class="conversation" aria-label={t(word)}>
      <header class="bar only-phone"><a class="icon-button" href="#/threads" aria-label={t("threads")}><Icon name="menu" /></a><span class="bar-title">{t(word)}</span></header>
      <Connection />
      <div class="shelf" tabIndex={0} role="region" aria-label={t(word)}><div class="shelf-inside" key={place}>
        <h1>{t(word)}</h1>
        <p class="lead">{t((word + "Lead") as "agentsLead")}</p>
        {place === "models" && <ModelsShelf />}
        {place === "tools" && <ToolsShelf />}
        {place === "documents" && <DocumentsShelf />}
        {place === "usage" && <UsageShelf />}
        {place === "agents" && <AgentsShelf />}
        {place === "skills" && <SkillsShelf />}
        {place === "memory" && <MemoryShelf />}
      </div></div>
    </main>
  );
}

export type Read<T> = { state: "reading" } | { state: "none" } | { state: "failed"; why: string } | { state: "read"; value: T };

/** Reads a route when the page is opened, and again when it is told to. */
export function useRead<T>(path: string): [Read<T>, () => void] {
  const [now, set] = useState<Read<T>>({ state: "reading" });
  const [turn, next] = useState(0);
  useEffect(() => {
    let live = true;
    get<T>(path).then((value) => { if (live) set({ state: "read", value }); }, (err: unknown) => {
      if (live) set(err instanceof Refusal && (err.status === 404 || err.status === 405 || err.status === 501) ? { state: "none" } : { state: "failed", why: err instanceof Error ? err.message : String(err) });
    });
    return () => { live = false; };
  }, [path, turn]);
  return [now, () => next((n) => n + 1)]; // of two changes at once each is read again, whichever was drawn
}

/** What is shown until there is something to show. */
export function Shown<T>({ of, children }: { of: Read<T>; children: (value: T) => ComponentChildren }): JSX.Element {
  switch (of.state) {
    case "reading": return <p class="meta">{t("loading")}</p>;
    case "none": return <p class="note"><Icon name="info" />{t("notHere")}</p>;
    case "failed": return <p class="note fail"><Icon name="warn" />{t("loadFailed", of.why)}</p>;
    case "read": return <>{children(of.value)}</>;
  }
}

function ModelsShelf(): JSX.Element {
  if (models.value.length === 0) return <p class="note"><Icon name="info" />{t("notHere")}</p>;
  return (
    <ul class="cards">
      {models.value.map((m) => (
        <li key={m.name} class={"card" + (m.usable ? "" : " off")}>
          <h3><span class="grow">{m.name}</span>{m.default && <span class="tag good">{t("isDefault")}</span>}{!m.usable && <span class="tag bad">{t("noKey")}</span>}</h3>
          <p>{[m.provider, m.model].filter((x) => x && x !== m.name).join(" · ")}</p>
          <p class="tags">{m.thinking && <span class="tag">{t("canThink")}</span>}{m.vision && <span class="tag">{t("canSee")}</span>}</p>
        </li>
      ))}
    </ul>
  );
}

interface DocumentPassage { title: string; trail: string[]; path: string; anchor: string; position: string; snippet: string; text: string }

function DocumentsShelf(): JSX.Element {
  const [query, setQuery] = useState("");
  const [asked, setAsked] = useState("");
  return (
    <>
      <form class="row-actions" role="search" onSubmit={(e) => { e.preventDefault(); setAsked(query.trim()); }}>
        <span class="grow"><input class="field" type="search" value={query} placeholder={t("askAbout")} aria-label={t("askAbout")} onInput={(e) => setQuery(e.currentTarget.value)} /></span>
        <button type="submit" class="button primary" disabled={query.trim() === ""}>{t("search")}</button>
      </form>
      {asked !== "" && <Found key={asked} q={asked} />}
    </>
  );
}

function Found({ q }: { q: string }): JSX.Element {
  const [found] = useRead<{ passages: DocumentPassage[]; missing: string[] }>("/documents/search?limit=20&q=" + encodeURIComponent(q));
  return <Shown of={found}>{({ passages, missing }) => passages.length === 0
    ? <p class="note"><Icon name="info" />{missing.length > 0 ? t("missingWords", missing.join(", ")) : t("nothingFound")}</p>
    : <ol class="finds">{passages.map((p, i) => (
      <li key={i}><details class="find"><summary><span class="find-head"><span class="num">{i + 1}</span><span class="name">{p.title}{p.trail.length > 0 ? " — " + p.trail.join(" › ") : ""}</span><span class="meta">{p.path} {p.position}</span></span>
        <span class="snippet">{hit(p.snippet)}</span></summary><blockquote class="passage">{p.text}</blockquote></details></li>
    ))}</ol>}</Shown>;
}

/** A snippet, in which hits stand between « and ». */
function hit(text: string): ComponentChildren {
  return text.split(/(«[^»]*»)/).map((part, i) => (part.startsWith("«") && part.endsWith("»") ? <mark key={i}>{part.slice(1, -1)}</mark> : part));
}

interface TaskRow { task_id: string; thread_id: string; assistant: string; graph?: string; created_at: string; usage?: Record<string, number> }
interface Sum { key: string; n: number; input: number; output: number; cost: number }

function sums(rows: TaskRow[], by: (r: TaskRow) => string): Sum[] {
  const out = new Map<string, Sum>();
  for (const r of rows) {
    const key = by(r);
    const s = out.get(key) ?? { key, n: 0, input: 0, output: 0, cost: 0 };
    s.n++;
    s.input += r.usage?.["input_tokens"] ?? 0;
    s.output += r.usage?.["output_tokens"] ?? 0;
    s.cost += r.usage?.["cost_micros"] ?? 0;
    out.set(key, s);
  }
  return [...out.values()];
}

function UsageShelf(): JSX.Element {
  const [read] = useRead<{ tasks: TaskRow[]; total: number }>("/tasks?limit=1000");
  return <Shown of={read}>{({ tasks, total }) => {
    if (tasks.length === 0) return <p class="meta">{t("nothingYet")}</p>;
    const all = sums(tasks, () => "")[0]!;
    return (
      <>
        <dl class="cards">
          {([["questions", all.n], ["inTokens", all.input], ["outTokens", all.output]] as const).map(([w, n]) => <div class="card" key={w}><dt class="meta">{t(w)}</dt><dd class="figure">{number(n)}</dd></div>)}
        </dl>
        {total > tasks.length && <p class="meta">{t("sampleOf", number(tasks.length), number(total))}</p>}
        <h2>{t("byDay")}</h2><Figures first={t("day")} rows={sums(tasks, (r) => r.created_at.slice(0, 10))} />
        <h2>{t("byAssistant")}</h2><Figures first={t("assistant")} rows={sums(tasks, (r) => r.graph ?? r.assistant)} />
      </>
    );
  }}</Shown>;
}

function Figures({ first, rows }: { first: string; rows: Sum[] }): JSX.Element {
  const most = Math.max(1, ...rows.map((r) => r.input + r.output));
  const costs = rows.some((r) => r.cost > 0);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={first}><table class="figures">
      <thead><tr><th scope="col">{first}</th><th scope="col" class="right">{t("questions")}</th><th scope="col" class="right">{t("inTokens")}</th><th scope="col" class="right">{t("outTokens")}</th>{costs && <th scope="col" class="right">{t("cost")}</th>}<th class="share"><span class="sr">{t("total")}</span></th></tr></thead>
      <tbody>{rows.map((r) => <tr key={r.key}><td>{r.key}</td><td class="right">{number(r.n)}</td><td class="right">{number(r.input)}</td><td class="right">{number(r.output)}</td>{costs && <td class="right">{money(r.cost)}</td>}
        <td class="share"><meter min={0} max={most} value={r.input + r.output} aria-label={t("total")} /></td></tr>)}</tbody>
    </table></div>
  );
}
