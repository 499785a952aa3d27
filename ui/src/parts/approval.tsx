// May a tool be called? What exactly it would do is shown as it will be shown when it was done. No answer is the primary one.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Interrupt, Item } from "../../tasks";
import { t } from "../i18n";
import { Details, member, type Give } from "./asks";
import { Button } from "./buttons";
import { pretty, ToolBody, viewOf } from "./tools";

export function Approval({ ask, call, busy, give }: { ask: Interrupt; call: Item | null; busy: boolean; give: Give }): JSX.Element {
  const name = member(ask.value, "tool") || (call?.name ?? "");
  const told = typeof ask.value === "object" && ask.value !== null ? (ask.value as Record<string, unknown>)["arguments"] : undefined;
  const args = told === undefined ? (call?.arguments ?? "") : typeof told === "string" ? told : JSON.stringify(told);
  const [mode, setMode] = useState<"ask" | "edit" | "reject">("ask");
  const [edited, setEdited] = useState(() => pretty(args));
  const [why, setWhy] = useState("");
  const view = viewOf(name, []);
  const known = readObject(edited);
  const does: Record<string, () => void> = { edit: () => setMode("edit"), reject: () => setMode("reject") };
  const names: Record<string, string> = { approve: t("approveOnce"), approve_for_thread: t("approveThread"), edit: t("editArguments"), reject: t("reject") };
  return (
    <>
      <p class="ask-tool"><code>{name}</code>{member(ask.value, "can") !== "" && <span class="meta">{t("canDo", member(ask.value, "can"))}</span>}</p>
      <Details value={ask.value} without={["tool", "arguments", "description", "can"]} />
      {mode === "edit" ? (
        <form onSubmit={(e) => { e.preventDefault(); if (known) give({ decision: "edit", arguments: known }); }}>
          <textarea class="field mono" rows={Math.min(14, edited.split("\n").length + 1)} value={edited} aria-label={t("arguments")} aria-invalid={known === null} ref={(el) => { if (el && !el.dataset["seen"]) { el.dataset["seen"] = "1"; el.focus(); } }} onInput={(e) => setEdited(e.currentTarget.value)} />
          {known === null && <p class="meta fail-text">{t("notJSON")}</p>}
          <div class="row-actions"><Button submit disabled={busy || known === null}>{t("approveEdited")}</Button><Button plain onClick={() => setMode("ask")}>{t("cancel")}</Button></div>
        </form>
      ) : view === "terminal" || view === "diff"
        ? <ToolBody name={name} args={args} blocks={[]} result={null} turn={null} live={false} />
        : args !== "" && args !== "{}" && <pre class="raw" tabIndex={0}>{pretty(args)}</pre>}
      {mode === "reject" && (
        <form onSubmit={(e) => { e.preventDefault(); give(why.trim() === "" ? "reject" : { decision: "reject", reason: why.trim() }); }}>
          <textarea class="field" rows={2} value={why} aria-label={t("whyNot")} placeholder={t("whyNot")} ref={(el) => { if (el && !el.dataset["seen"]) { el.dataset["seen"] = "1"; el.focus(); } }} onInput={(e) => setWhy(e.currentTarget.value)} />
          <div class="row-actions"><Button submit disabled={busy}>{t("reject")}</Button><Button plain onClick={() => setMode("ask")}>{t("cancel")}</Button></div>
        </form>
      )}
      {mode === "ask" && <div class="row-actions">{(ask.options ?? []).map(String).map((o) => <Button key={o} disabled={busy} onClick={does[o] ?? (() => give(o))}>{names[o] ?? o}</Button>)}</div>}
    </>
  );
}

function readObject(text: string): Record<string, unknown> | null {
  try {
    const v: unknown = JSON.parse(text);
    return typeof v === "object" && v !== null && !Array.isArray(v) ? v as Record<string, unknown> : null;
  } catch { return null; }
}
