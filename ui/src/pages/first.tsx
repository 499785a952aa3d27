// The first screen: a place to ask, three questions that work without a key, and what answers here.
import type { JSX } from "preact";
import { Icon, type IconName } from "../icons";
import { t, type Word } from "../i18n";
import { offline } from "../store/server";
import { CopyButton } from "../parts/buttons";
import { Composer } from "../parts/composer";
import { assistants, type Choice } from "../store/choices";
import type { Attached } from "../store/files";

/** Three questions that work without a key. Where the server has no research or no team, others take their place. */
function examples(): [IconName, Word, Word, string][] {
  const has = (id: string) => assistants.value.some((a) => a.id === id);
  return [
    ["book", "ex1", "ex1s", ""],
    has("research") ? ["research", "exResearch", "exResearchS", "research"] : ["search", "ex2", "ex2s", ""],
    has("team") ? ["team", "exTeam", "exTeamS", "team"] : ["count", "ex3", "ex3s", ""],
  ];
}
const command = "OPENAI_API_KEY=… tributary serve";

export function First({ ask }: { ask: (text: string, files?: Attached[], choice?: Partial<Choice>) => void }): JSX.Element {
  return (
    <div class="first"><div class="first-inside">
      <h1>{t("heading")}</h1>
      <p class="lead">{t("lead")}</p>
      <Composer draft="new" placeholder={t("ask")} send={ask} stop={null} focus />
      <ul class="examples">
        {examples().map(([icon, q, about, assistant]) => (
          <li key={q}><button type="button" onClick={() => ask(t(q), [], { assistant })}>
            <Icon name={icon} /><span class="grow"><strong>{t(q)}</strong><span class="meta">{t(about)}</span></span><Icon name="right" />
          </button></li>
        ))}
      </ul>
      {offline.value && <OfflineNote />}
    </div></div>
  );
}

export function OfflineNote(): JSX.Element {
  return (
    <aside class="offline"><Icon name="info" /><div>
      <p><strong>{t("offlineTitle")}</strong> {t("offlineText")}</p>
      <div class="command"><code>{command}</code><CopyButton text={() => command} label={t("copy")} /></div>
      <p class="meta">{t("otherModels")}</p>
    </div></aside>
  );
}
