// What the inspector shows of a run's checkpoints: the difference of two states, a fork from one, and what each step took.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Icon } from "../icons";
import { number, span, t } from "../i18n";
import { Button } from "../parts/buttons";
import { go } from "../route";
import { differences, stepsOf, type Checkpoint } from "../store/checkpoints";
import { get, newID, post, Refusal } from "../wire/api";
import { questionOf } from "../store/turn";

export function StatePane({ list, at, choose, thread, run }: { list: Checkpoint[]; at: number; choose: (n: number) => void; thread: string; run: string }): JSX.Element {
  const [from, setFrom] = useState<number | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const left = from !== null && from < list.length ? from : Math.max(0, at - 1);
  const a = list[left], b = list[at];
  const found = useMemo(() => (a && b ? differences(a.values, b.values) : []), [a, b]);
  if (!b) return <p class="meta">{t("nothingYet")}</p>;
  const pick = (value: number, set: (n: number) => void, word: string) => (
    <label class="pick"><span class="meta">{word}</span><select value={value} onChange={(e) => set(Number(e.currentTarget.value))}>{list.map((c, i) => <option key={i} value={i}>{`${i} · ${c.metadata.source ?? ""} ${c.next.join(", ")}`}</option>)}</select></label>
  );
  const fork = () => {
    setBusy(true);
    setProblem("");
    forkFrom(thread, run, b.checkpoint.checkpoint_id).then((id) => go({ name: "run", id, seq: null }), (err: unknown) => setProblem(err instanceof Error ? err.message : String(err))).finally(() => setBusy(false));
  };
  return (
    <div class="state-pane">
      <div class="row-actions">{pick(left, setFrom, t("fromEvent"))}{pick(at, (n) => { setFrom(null); choose(n); }, t("toEvent"))}<span class="grow" />
        <Button small icon="fork" disabled={busy || b.next.length === 0} onClick={fork}>{busy ? t("forking") : t("forkFrom")}</Button></div>
      {problem !== "" && <p class="note fail"><Icon name="warn" />{problem}</p>}
      <p class="meta">{t("stateDiff", left, at)}{b.next.length > 0 ? ` · → ${b.next.join(", ")}` : ""}</p>
      {found.length === 0 && <p class="meta">{t("noChange")}</p>}
      {found.map((f) => (
        <figure class="diff" key={f.field}><figcaption><span>{f.field}</span><span class="diff-counts"><ins>+{number(f.lines.filter((l) => l.kind === "new").length)}</ins> <del>−{number(f.lines.filter((l) => l.kind === "gone").length)}</del></span></figcaption>
          <pre tabIndex={0} role="region" aria-label={t("changeOf", f.field)}>{f.lines.map((l, i) => <span key={i} class={"diff-line " + l.kind}><i>{l.kind === "new" ? "+" : l.kind === "gone" ? "−" : " "}</i>{l.text}{"\n"}</span>)}</pre></figure>
      ))}
    </div>
  );
}

interface RunRow { run_id: string; assistant_id: string; created_at: string; metadata: Record<string, unknown>; kwargs: { input?: unknown } }

/** Runs on from a checkpoint, as another version of the question that the run answers. */
async function forkFrom(thread: string, run: string, checkpoint: string): Promise<string> {
  const of = await get<RunRow>("/threads/" + thread + "/runs/" + run);
  const all = await get<RunRow[]>(`/threads/${thread}/runs?limit=1000`);
  const before = of.metadata["page_after"] ?? all.filter((r) => r.created_at < of.created_at).sort((x, y) => (x.created_at < y.created_at ? 1 : -1))[0]?.run_id ?? "";
  const question = questionOf(of.kwargs.input) ?? of.metadata["page_question"];
  const made = await post<RunRow>(`/threads/${thread}/runs`, {
    assistant_id: of.assistant_id, input: null, checkpoint_id: checkpoint,
    metadata: { page_key: newID(), page_after: before, ...(typeof question === "string" ? { page_question: question } : {}) },
  });
  if (!made.run_id) throw new Refusal(500, "the server did not say which run it made");
  return made.run_id;
}

export function StepsPane({ list, at, choose }: { list: Checkpoint[]; at: number; choose: (n: number) => void }): JSX.Element {
  const steps = useMemo(() => stepsOf(list), [list]);
  if (steps.length === 0) return <p class="meta">{t("nothingYet")}</p>;
  const longest = Math.max(1, ...steps.map((s) => s.ms));
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={t("stepsAndCost")}><table class="figures">
      <thead><tr><th scope="col">{t("nodeWord")}</th><th scope="col"><span class="sr">{t("timeWord")}</span></th><th scope="col" class="right">{t("timeWord")}</th><th scope="col" class="right">{t("inTokens")}</th><th scope="col" class="right">{t("outTokens")}</th></tr></thead>
      <tbody>
        {steps.map((s) => <tr key={s.at} class={s.at === at ? "selected" : ""}><td><button type="button" class="link" onClick={() => choose(s.at)}>{s.name}</button></td><td class="share"><meter min={0} max={longest} value={s.ms} aria-label={t("timeWord")} /></td><td class="right">{span(s.ms)}</td><td class="right">{s.input > 0 ? number(s.input) : "–"}</td><td class="right">{s.output > 0 ? number(s.output) : "–"}</td></tr>)}
        <tr><td><strong>{t("total")}</strong></td><td /><td class="right">{span(steps.reduce((n, s) => n + s.ms, 0))}</td><td class="right">{number(steps.reduce((n, s) => n + s.input, 0))}</td><td class="right">{number(steps.reduce((n, s) => n + s.output, 0))}</td></tr>
      </tbody>
    </table></div>
  );
}
