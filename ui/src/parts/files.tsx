// Files of a thread: chips of what goes with a question, and the drawer with what agents left.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Icon } from "../icons";
import { t, when, type Word } from "../i18n";
import type { Conversation } from "../store/conversation";
import { addressOf, closeFile, download, look, openFile, shelf, shown, size, uploadPath, type Attached, type ThreadFile } from "../store/files";
import { Preview } from "../pages/lazy";
import { IconButton } from "./buttons";

export function Attachments({ list, remove }: { list: Attached[]; remove: (a: Attached) => void }): JSX.Element | null {
  if (list.length === 0) return null;
  return (
    <ul class="attached" aria-label={t("files")}>
      {list.map((a) => (
        <li key={a.key} class={a.problem === "" ? "" : "bad"}>
          <Icon name={a.problem === "" ? "file" : "warn"} size={14} /><span class="file-name" title={a.file.name}>{a.file.name || "pasted.png"}</span>
          <span class="meta">{a.problem === "" ? size(a.file.size) : t(a.problem as Word)}</span>
          <IconButton icon="close" label={t("removeFile", a.file.name)} onClick={() => remove(a)} />
        </li>
      ))}
    </ul>
  );
}

/** The files that went with a question. */
export function Sent({ names }: { names: string[] }): JSX.Element | null {
  if (names.length === 0) return null;
  return <ul class="sent">{names.map((n) => (
    <li key={n}><button type="button" class="file-link" aria-label={t("openFile", n)} onClick={(e) => openFile(uploadPath(n), e.currentTarget as HTMLElement)}><Icon name="file" size={14} />{n}</button></li>
  ))}</ul>;
}

/** The files that an answer is about, each in a line. */
export function Presented({ paths }: { paths: string[] }): JSX.Element | null {
  if (paths.length === 0) return null;
  return (
    <ul class="presented" aria-label={t("files")}>
      {paths.map((path) => {
        const known = shelf.value.outputs.find((f) => f.path === path);
        const name = path.split("/").at(-1) ?? path;
        return (
          <li key={path}>
            <button type="button" class="list-row" aria-label={t("openFile", name)} onClick={(e) => openFile(path, e.currentTarget as HTMLElement)}><Icon name="file" /><span class="file-name grow">{name}</span></button>
            {known && <span class="meta">{size(known.size)}</span>}
            {known && <IconButton icon="download" label={t("downloadFile", name)} onClick={() => void download(known.artifact_url + "?download=true", name).catch(() => {})} />}
          </li>
        );
      })}
    </ul>
  );
}

/** The list of a thread's files, or one of them. */
export function FilesDrawer({ conversation }: { conversation: Conversation }): JSX.Element | null {
  const o = shown.value;
  const working = conversation.working.value !== null;
  useEffect(() => {
    if (!o) return;
    void look(conversation.thread);
    if (!working) return;
    const timer = setInterval(() => void look(conversation.thread), 3000);
    return () => clearInterval(timer);
  }, [o === null, working, conversation]);
  if (!o) return null;
  const { outputs, uploads } = shelf.value;
  const all = [...outputs, ...uploads];
  const at = o.path === null ? -1 : all.findIndex((f) => f.path === o.path);
  const name = o.path?.split("/").at(-1) ?? "";
  const address = o.path === null ? "" : addressOf(conversation.thread, o.path);
  return (
    <aside class={"drawer files-drawer" + (o.path === null ? "" : " wide")} aria-label={t("files")}>
      <header class="bar">
        {o.path !== null && <IconButton icon="left" label={t("allFiles")} onClick={() => openFile(null, o.from)} />}
        <h2 title={o.path ?? ""}>{o.path === null ? t("files") : name}</h2>
        {o.path === null && outputs.length > 1 && <IconButton icon="download" label={t("downloadAll")} onClick={() => void download(`/threads/${conversation.thread}/artifacts?format=zip`, "outputs.zip").catch(() => {})} />}
        {o.path !== null && <IconButton icon="download" label={t("download")} onClick={() => void download(address + "?download=true", name).catch(() => {})} />}
        <IconButton icon="close" label={t("close")} keys="Esc" onClick={closeFile} />
      </header>
      <div class="drawer-body" tabIndex={0} role="region" aria-label={o.path === null ? t("files") : name}>
        {o.path === null ? (
          <>
            {all.length === 0 && <p class="meta">{t("noFiles")}</p>}
            <FileList title={t("made")} files={outputs} />
            <FileList title={t("given")} files={uploads} />
          </>
        ) : <Preview key={o.path + (all[at]?.modified ?? "")} address={address} name={name} />}
      </div>
    </aside>
  );
}

function FileList({ title, files }: { title: string; files: ThreadFile[] }): JSX.Element | null {
  if (files.length === 0) return null;
  return (
    <>
      <h4>{title}</h4>
      <ul class="file-list">
        {files.map((f) => (
          <li key={f.path}><button type="button" class="list-row" onClick={() => openFile(f.path, shown.value?.from ?? null)}>
            <Icon name="file" /><span class="grow"><span class="file-name">{f.path.replace(/^\/mnt\/user-data\/\w+\//, "")}</span></span>
            <span class="meta">{size(f.size)}</span><span class="meta">{when(Date.parse(f.modified))}</span>
          </button></li>
        ))}
      </ul>
    </>
  );
}
