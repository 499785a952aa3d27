// Tools that agents have, what each can do, and the MCP servers that more come from. A server is asked when somebody wants to know.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Icon, Spinner } from "../icons";
import { t, type Word } from "../i18n";
import { Button } from "../parts/buttons";
import { get } from "../wire/api";
import { Shown, useRead } from "./shelves";

interface Tool { name: string; group: string; description: string; can: string[]; schema?: { properties?: Record<string, { description?: string; type?: unknown }>; required?: string[] } }
interface Server { name: string; type: string; agents: string[]; only: string[] }

const words: Record<string, Word> = { reads: "riskReads", writes: "riskWrites", executes: "riskExecutes", spends: "riskSpends", leaves: "riskLeaves" };

export function ToolsShelf(): JSX.Element {
  const [read] = useRead<{ tools: Tool[]; off: Record<string, string> }>("/tools");
  const [servers] = useRead<{ servers: Server[] }>("/mcp/servers");
  return (
    <>
      <Shown of={read}>{({ tools, off }) => {
        const groups = [...new Set([...tools.map((x) => x.group), ...Object.keys(off)])];
        return groups.map((g) => (
          <section key={g} aria-label={g || t("tools")}>
            <h2>{g || t("tools")}</h2>
            {off[g] !== undefined && <p class="note"><Icon name="info" />{off[g]}</p>}
            <ToolList tools={tools.filter((x) => x.group === g)} />
          </section>
        ));
      }}</Shown>
      {servers.state === "read" && <section aria-label={t("mcpServers")}>
        <h2>{t("mcpServers")}</h2>
        {servers.value.servers.length === 0 ? <p class="meta">{t("noServers")}</p> : <ul class="facts">{servers.value.servers.map((s) => <ServerCard key={s.name} server={s} />)}</ul>}
      </section>}
    </>
  );
}

function ToolList({ tools }: { tools: Tool[] }): JSX.Element | null {
  if (tools.length === 0) return null;
  return <ul class="tool-list">{tools.map((x) => <li key={x.name}><details>
    <summary><code class="tool-name">{x.name}</code><span class="grow tool-about">{x.description.split("\n")[0]}</span>
      <span class="tags">{x.can.map((c) => <span key={c} class={"tag" + (c === "reads" ? "" : " warm")}>{words[c] ? t(words[c]) : c}</span>)}</span></summary>
    <p class="tool-text">{x.description}</p>
    {Object.keys(x.schema?.properties ?? {}).length > 0 && <dl class="tool-fields">{Object.entries(x.schema!.properties!).map(([name, p]) => (
      <div key={name}><dt><code>{name}</code>{x.schema?.required?.includes(name) && <span class="meta"> {t("needed")}</span>}</dt><dd>{p.description ?? (typeof p.type === "string" ? p.type : "")}</dd></div>
    ))}</dl>}
  </details></li>)}</ul>;
}

function ServerCard({ server }: { server: Server }): JSX.Element {
  const [state, set] = useState<{ asking: boolean; tools: Tool[] | null; problem: string }>({ asking: false, tools: null, problem: "" });
  const ask = () => {
    set({ asking: true, tools: null, problem: "" });
    get<{ tools: Tool[]; problem?: string }>(`/mcp/servers/${encodeURIComponent(server.name)}/tools`)
      .then((f) => set({ asking: false, tools: f.tools, problem: f.problem ?? "" }), (err: unknown) => set({ asking: false, tools: null, problem: err instanceof Error ? err.message : String(err) }));
  };
  return (
    <li class="card">
      <h3><span class="grow">{server.name}</span><span class="tag">{server.type}</span>{server.agents.map((a) => <span class="tag" key={a}>{a}</span>)}</h3>
      <p class="row-actions"><Button small disabled={state.asking} onClick={ask}>{t("askServer")}</Button>{state.asking && <Spinner />}
        {state.tools !== null && state.problem === "" && <span class="meta">{t("serverAnswers", state.tools.length)}</span>}</p>
      {state.problem !== "" && <p class="note fail"><Icon name="warn" />{state.problem}</p>}
      {state.tools !== null && <ToolList tools={state.tools} />}
    </li>
  );
}
