// The name of a thread's file, which opens it beside the conversation.
import type { JSX } from "preact";
import { Icon } from "../icons";
import { t } from "../i18n";
import { openFile } from "../store/files";

/** Only what lies in outputs and uploads can be read from here; other names are text. */
export function FileLink({ path }: { path: string }): JSX.Element {
  const name = path.split("/").at(-1) ?? path;
  if (!/^\/?mnt\/user-data\/(?:outputs|uploads|workspace)\//.test(path)) return <span class="file-name" title={path}>{name}</span>;
  return <button type="button" class="file-link" title={path} aria-label={t("openFile", name)} onClick={(e) => openFile(path, e.currentTarget as HTMLElement)}><Icon name="file" size={14} />{name}</button>;
}
