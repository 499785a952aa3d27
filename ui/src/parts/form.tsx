// A question that is a form of several fields.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Interrupt } from "../../tasks";
import { t } from "../i18n";
import { Details, member, type Give } from "./asks";
import { Button } from "./buttons";

interface Field { name: string; label: string; type: string; required: boolean; options: string[] }

export function fieldsIn(value: unknown): Field[] {
  const list = typeof value === "object" && value !== null ? (value as Record<string, unknown>)["fields"] : undefined;
  if (!Array.isArray(list)) return [];
  return list.filter((f): f is Record<string, unknown> => typeof f === "object" && f !== null && typeof (f as Record<string, unknown>)["name"] === "string").map((f) => ({
    name: String(f["name"]), label: String(f["label"] ?? f["name"]), type: String(f["type"] ?? "text"), required: f["required"] === true, options: Array.isArray(f["options"]) ? f["options"].map(String) : [],
  }));
}

export function Form({ ask, busy, give }: { ask: Interrupt; busy: boolean; give: Give }): JSX.Element {
  const fields = fieldsIn(ask.value);
  const [values, setValues] = useState<Record<string, unknown>>({});
  const set = (name: string, v: unknown) => setValues((was) => ({ ...was, [name]: v }));
  const missing = fields.some((f) => f.required && f.type !== "checkbox" && (values[f.name] === undefined || values[f.name] === "" || (Array.isArray(values[f.name]) && (values[f.name] as unknown[]).length === 0)));
  const send = () => {
    const out: Record<string, unknown> = {};
    for (const f of fields) {
      const v = values[f.name];
      if (f.type === "checkbox") out[f.name] = v === true;
      else if (v !== undefined && v !== "") out[f.name] = f.type === "number" ? Number(v) : v;
    }
    give(out);
  };
  const context = member(ask.value, "context");
  return (
    <>
      {context !== "" && <p class="ask-context">{context}</p>}
      <Details value={ask.value} />
      <form class="form" onSubmit={(e) => { e.preventDefault(); if (!missing) send(); }}>
        {fields.map((f) => <Input key={f.name} field={f} id={`f-${ask.id}-${f.name}`} value={values[f.name]} set={(v) => set(f.name, v)} />)}
        <div class="row-actions"><Button primary submit disabled={busy || missing}>{t("answer")}</Button></div>
      </form>
    </>
  );
}

function Input({ field: f, id, value, set }: { field: Field; id: string; value: unknown; set: (v: unknown) => void }): JSX.Element {
  const text = typeof value === "string" ? value : "";
  if (f.type === "checkbox") return <label class="option"><input type="checkbox" checked={value === true} onChange={(e) => set(e.currentTarget.checked)} />{f.label}</label>;
  if (f.type === "multi_select") {
    const list = Array.isArray(value) ? value as string[] : [];
    return <fieldset class="form-field"><legend>{f.label}{f.required && <Needed />}</legend>{f.options.map((o) => (
      <label key={o} class="option"><input type="checkbox" checked={list.includes(o)} onChange={(e) => set(e.currentTarget.checked ? [...list, o] : list.filter((x) => x !== o))} />{o}</label>))}</fieldset>;
  }
  return (
    <div class="form-field">
      <label for={id}>{f.label}{f.required && <Needed />}</label>
      {f.type === "textarea" ? <textarea id={id} class="field" rows={3} value={text} onInput={(e) => set(e.currentTarget.value)} />
        : f.type === "select" ? <select id={id} class="field" value={text} onChange={(e) => set(e.currentTarget.value)}><option value="">–</option>{f.options.map((o) => <option key={o} value={o}>{o}</option>)}</select>
          : f.type === "number" ? <input id={id} class="field" type="number" step="any" value={text} onInput={(e) => set(e.currentTarget.value)} />
            : f.type === "date" ? <input id={id} class="field" type="date" value={text} onInput={(e) => set(e.currentTarget.value)} />
              : <input id={id} class="field" type="text" value={text} onInput={(e) => set(e.currentTarget.value)} />}
    </div>
  );
}

function Needed(): JSX.Element { return <span class="meta"> · {t("needed")}</span>; }
