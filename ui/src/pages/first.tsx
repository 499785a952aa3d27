// The first screen: a place to ask, three questions that work without a key, and what answers here.
import type { JSX } from "preact";
import { Icon, type IconName } from "../icons";
import { t, type Word } from "../i18n";
import { offline } from "../store/server";
import { CopyButton } from "../parts/buttons";
import { Composer } from "../parts/composer";
import type { Attached } from "../store/files";

const examples: [IconName, Word, Word][] = [["book", "ex1", "ex1s"], ["search", "ex2", "ex2s"], ["count", "ex3", "ex3s"]];
const command = "OPENAI_API_KEY=… tributary serve";

export function First({ ask }: { ask: (text: string, files?: Attached[]) => void }): JSX.Element {
  return (
    <div class="first"><div class="first-inside">
      <h1>{t("heading")}</h1>
      <p class="lead">{t("lead")}</p>
      <Composer draft="new" placeholder={t("ask")} send={ask} stop={null} focus />
      <ul class="examples">
        {examples.map(([icon, q, about]) => (
          <li key={q}><button type="button" onClick={() => ask(t(q))}>
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
