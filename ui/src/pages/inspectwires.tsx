// The frames of a run as its wires send them. Each is read from its own public route when it is looked at.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { number, t } from "../i18n";
import { size } from "../store/files";
import { headers, refusal } from "../wire/api";
import type { Frame } from "../wire/follow";

export type Wire = "task" | "values" | "updates" | "messages-tuple" | "team";

export interface Sent { id: string; name: string; data: string }

/** The events of an SSE stream that ends. */
export function sentIn(text: string): Sent[] {
  return text.split(/\n\n+/).flatMap((block): Sent[] => {
    let id = "", name = "";
    const data: string[] = [];
    for (const line of block.split("\n")) {
      if (line.startsWith("id:")) id = line.slice(3).trim();
      else if (line.startsWith("event:")) name = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
    }
    return data.length === 0 ? [] : [{ id, name, data: data.join("\n") }];
  });
}

function addressOf(wire: Exclude<Wire, "task">, thread: string, run: string): string {
  return wire === "team" ? `/teams/${run}/events` : `/threads/${thread}/runs/${run}/stream?stream_mode=${wire}`;
}

export function WirePane({ wire, frames, at, thread, run, ended }: { wire: Wire; frames: Frame[]; at: number; thread: string; run: string; ended: boolean }): JSX.Element {
  if (wire === "task") {
    const f = frames[at];
    const text = f ? JSON.stringify(f) : "";
    return <><p class="meta">id {f?.sequence_number} · {size(text.length)}</p><pre class="raw">{JSON.stringify(f, null, 2)}</pre></>;
  }
  if (!ended || thread === "") return <p class="meta">{t("loading")}</p>;
  return <Other key={wire} wire={wire} thread={thread} run={run} part={frames.length > 1 ? at / (frames.length - 1) : 1} />;
}

const around = 100;

/** Another wire's frames. It starts at the place that is as far into this wire as the head is into the other. */
function Other({ wire, thread, run, part }: { wire: Exclude<Wire, "task">; thread: string; run: string; part: number }): JSX.Element {
  const [list, setList] = useState<Sent[] | null>(null);
  const [problem, setProblem] = useState("");
  const [chosen, choose] = useState<number | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    fetch(addressOf(wire, thread, run), { headers: headers({ Accept: "text/event-stream", "Last-Event-ID": "-1" }), signal: stop.signal })
      .then(async (r) => { if (!r.ok) throw await refusal(r); setList(sentIn(await r.text())); })
      .catch((err: unknown) => { if (!stop.signal.aborted) setProblem(err instanceof Error ? err.message : String(err)); });
    return () => stop.abort();
  }, [wire, thread, run]);
  const here = useRef<HTMLButtonElement>(null);
  const at = list ? Math.max(0, Math.min(list.length - 1, chosen ?? Math.round(part * (list.length - 1)))) : 0;
  useEffect(() => { here.current?.scrollIntoView({ block: "nearest" }); }, [at, list]);
  if (problem !== "") return <p class="note fail">{problem}</p>;
  if (!list) return <p class="meta">{t("loading")}</p>;
  const f = list[at];
  const from = Math.max(0, at - around);
  return (
    <>
      <p class="meta">{t("framesOf", number(list.length))} · {size(list.reduce((n, x) => n + x.data.length, 0))}</p>
      <ul class="wire-frames" tabIndex={0} aria-label={wire}>{list.slice(from, at + around).map((x, i) => (
        <li key={from + i}><button type="button" ref={from + i === at ? here : null} class={"list-row event" + (from + i === at ? " selected" : "")} aria-current={from + i === at} onClick={() => choose(from + i)}><span class="num wide">{x.id}</span><span class="grow">{x.name || typeIn(x.data)}</span><span class="meta">{size(x.data.length)}</span></button></li>
      ))}</ul>
      {f && <pre class="raw">{pretty(f.data)}</pre>}
    </>
  );
}

function typeIn(data: string): string { return /"type":"([^"]+)"/.exec(data.slice(0, 300))?.[1] ?? ""; }
function pretty(data: string): string { try { return JSON.stringify(JSON.parse(data), null, 2); } catch { return data; } }
