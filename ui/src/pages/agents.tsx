// Assistants that can be asked, and agents that people make themselves.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../icons";
import { t } from "../i18n";
import { Button, IconButton } from "../parts/buttons";
import { go } from "../route";
import { assistants, choiceOf, keepChoice, learnChoices, usable } from "../store/choices";
import { send } from "../wire/api";
import { Shown, useRead } from "./shelves";

interface Agent { name: string; description: string | null; model: string | null; tool_groups: string[] | null; skills: string[] | null; problem?: string }

/** Asks the next question to an assistant, or to an agent that is none. */
function choose(name: string): void {
  const known = assistants.value.find((a) => a.name === name || a.id === name);
  keepChoice("new", { ...choiceOf("new"), assistant: known ? (known.id === "agent" ? "" : known.id) : "", agent: known ? "" : name });
  go({ name: "new" });
}

export function AgentsShelf(): JSX.Element {
  const [read, again] = useRead<{ agents: Agent[] }>("/agents");
  const [making, setMaking] = useState(false);
  const own = read.state === "read" ? read.value.agents : [];
  const builtIn = assistants.value.filter((a) => !own.some((o) => o.name === a.name));
  const remove = (name: string) => void send("DELETE", "/agents/" + encodeURIComponent(name)).then(() => { again(); return learnChoices(); }, again);
  return (
    <>
      <ul class="cards">
        {builtIn.map((a) => (
          <li key={a.id} class="card"><h3><Icon name={a.id === "team" ? "team" : a.id === "research" ? "research" : "agent"} /><span class="grow">{a.name}</span><span class="tag">{t("builtIn")}</span></h3>
            <p class="row-actions"><Button small onClick={() => choose(a.id)}>{t("askIt")}</Button></p></li>
        ))}
      </ul>
      <Shown of={read}>{({ agents }) => (
        <>
          <ul class="cards">{agents.map((a) => (
            <li key={a.name} class="card"><h3><Icon name="agent" /><span class="grow">{a.name}</span><span class="tag good">{t("own")}</span></h3>
              {a.problem ? <p class="fail-text">{a.problem}</p> : <p>{a.description}</p>}
              <p class="tags">{a.model && <span class="tag">{a.model}</span>}{a.tool_groups?.map((g) => <span class="tag" key={g}>{g}</span>)}{a.skills?.map((s) => <span class="tag" key={s}>{s}</span>)}</p>
              <p class="row-actions">{!a.problem && <Button small onClick={() => choose(a.name)}>{t("askIt")}</Button>}<IconButton icon="trash" label={`${t("delete")}: ${a.name}`} onClick={() => remove(a.name)} /></p></li>
          ))}</ul>
          {making ? <Make done={() => { setMaking(false); again(); void learnChoices(); }} cancel={() => setMaking(false)} /> : <p><Button icon="plus" onClick={() => setMaking(true)}>{t("newAgent")}</Button></p>}
        </>
      )}</Shown>
    </>
  );
}

function Make({ done, cancel }: { done: () => void; cancel: () => void }): JSX.Element {
  const [name, setName] = useState("");
  const [about, setAbout] = useState("");
  const [soul, setSoul] = useState("");
  const [model, setModel] = useState("");
  const [problem, setProblem] = useState("");
  const make = () => {
    setProblem("");
    send("POST", "/agents", { name: name.trim(), description: about.trim(), soul, ...(model === "" ? {} : { model }) }).then(done, (err: unknown) => setProblem(err instanceof Error ? err.message : String(err)));
  };
  return (
    <form class="agent-form" onSubmit={(e) => { e.preventDefault(); make(); }}>
      <label>{t("name")}<input class="field" value={name} pattern="[A-Za-z0-9\-]+" required onInput={(e) => setName(e.currentTarget.value)} /></label>
      <label>{t("description")}<input class="field" value={about} onInput={(e) => setAbout(e.currentTarget.value)} /></label>
      <label>{t("soul")}<textarea class="field" rows={5} value={soul} onInput={(e) => setSoul(e.currentTarget.value)} /></label>
      {usable.value.length > 1 && <label>{t("model")}<select class="field" value={model} onChange={(e) => setModel(e.currentTarget.value)}><option value="">{t("isDefault")}</option>{usable.value.map((m) => <option key={m.name} value={m.name}>{m.name}</option>)}</select></label>}
      {problem !== "" && <p class="note fail"><Icon name="warn" />{problem}</p>}
      <div class="row-actions"><Button primary submit disabled={name.trim() === ""}>{t("create")}</Button><Button plain onClick={cancel}>{t("cancel")}</Button></div>
    </form>
  );
}
