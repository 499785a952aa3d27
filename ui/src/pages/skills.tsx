// Skills: what each is for, its text, and a switch.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../icons";
import { t } from "../i18n";
import { Markdown } from "../markdown/markdown";
import { Button } from "../parts/buttons";
import { get, send } from "../wire/api";
import { Shown, useRead } from "./shelves";

interface Skill { name: string; description: string; license: string | null; category: string; enabled: boolean; allowed_tools?: string[]; problem?: string }

export function SkillsShelf(): JSX.Element {
  const [read, again] = useRead<{ skills: Skill[] }>("/skills");
  const [open, setOpen] = useState<{ name: string; text: string } | null>(null);
  const [problem, setProblem] = useState("");
  const fail = (err: unknown) => setProblem(err instanceof Error ? err.message : String(err));
  const show = (name: string) => (open?.name === name ? setOpen(null) : void get<{ content: string }>("/skills/" + encodeURIComponent(name)).then((s) => setOpen({ name, text: s.content }), fail));
  return (
    <>
      {problem !== "" && <p class="note fail"><Icon name="warn" />{problem}</p>}
      <Shown of={read}>{({ skills }) => skills.length === 0 ? <p class="meta">{t("nothingYet")}</p> : (
        <ul class="facts">{skills.map((s) => (
          <li key={s.name} class={"card" + (s.enabled ? "" : " off")}>
            <h3><span class="grow">{s.name}</span><span class="tag">{s.category}</span><span class={"tag" + (s.enabled ? " good" : "")}>{s.enabled ? t("isOn") : t("off")}</span></h3>
            <p>{s.description}</p>{s.problem && <p class="fail-text">{s.problem}</p>}
            <p class="tags">{s.allowed_tools?.map((x) => <span class="tag" key={x}>{x}</span>)}</p>
            <p class="row-actions"><Button small onClick={() => show(s.name)}>{open?.name === s.name ? t("close") : t("openReport")}</Button>
              <Button small plain onClick={() => void send("PUT", "/skills/" + encodeURIComponent(s.name), { enabled: !s.enabled }).then(again, fail)}>{s.enabled ? t("turnOff") : t("turnOn")}</Button></p>
            {open?.name === s.name && <div class="skill-text"><Markdown text={open.text.replace(/^---\n[\s\S]*?\n---\n/, "")} live={false} /></div>}
          </li>
        ))}</ul>
      )}</Shown>
    </>
  );
}
