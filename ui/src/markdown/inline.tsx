// Shows what is inside of a block. The library marked reads it into tokens; each becomes an element that is written down here,
// with text as text: there is no way from a model's words to markup of their choice.
import { Marked, type Token, type Tokens } from "marked";
import type { ComponentChildren, JSX } from "preact";
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { addressOf, needsKey, openFile } from "../store/files";
import { send } from "../wire/api";
import { Code, Formula } from "./code";

/** Whose files a text may show: the id of a thread, or none. */
export const InThread = createContext("");

/** Shows the marker of a citation, or answers null if it is none. */
export const Cite = createContext<(ref: string, before: string) => ComponentChildren>(() => null);

const reader = new Marked({
  gfm: true,
  breaks: true,
  extensions: [
    {
      name: "cite", level: "inline",
      start: (src) => src.indexOf("[^"),
      tokenizer(src) {
        const m = /^\[\^([\w-]{1,20})\]/.exec(src);
        return m ? { type: "cite", raw: m[0], ref: m[1]! } : undefined;
      },
    },
    {
      name: "formula", level: "inline",
      start: (src) => src.search(/\$|\\\(/),
      tokenizer(src) {
        const m = /^\$\$([^$\n]+)\$\$/.exec(src) ?? /^\$([^\s$](?:[^$\n]*[^\s$\\])?)\$(?!\d)/.exec(src) ?? /^\\\(([^\n]+?)\\\)/.exec(src);
        return m ? { type: "formula", raw: m[0], text: m[1]! } : undefined;
      },
    },
  ],
});

/** Reads a block's source as blocks. */
export function Blocks({ src }: { src: string }): JSX.Element {
  return <>{flow(reader.lexer(src))}</>;
}

/** Reads a source as one line of text. */
export function Inline({ src }: { src: string }): JSX.Element {
  return <>{inline(reader.Lexer.lexInline(src, reader.defaults), "")}</>;
}

function flow(tokens: Token[] | undefined): ComponentChildren {
  return tokens?.map((t, i) => block(t, i));
}

function block(token: Token, key: number): ComponentChildren {
  switch (token.type) {
    case "space": return null;
    case "paragraph": return <p key={key}>{inline((token as Tokens.Paragraph).tokens, "")}</p>;
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      // The page's own headings are above: an answer begins at the third level.
      const Tag = (["h3", "h3", "h4", "h5", "h6", "h6"] as const)[depth - 1] ?? "h6";
      return <Tag key={key} class={"md-h" + depth}>{inline(tokens, "")}</Tag>;
    }
    case "hr": return <hr key={key} />;
    case "blockquote": return <blockquote key={key}>{flow((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "code": {
      const { lang, text } = token as Tokens.Code;
      return <Code key={key} lang={(lang ?? "").split(/\s/)[0] ?? ""} text={text} closed />;
    }
    case "list": {
      const { ordered, start, items } = token as Tokens.List;
      const inside = items.map((it, i) => <li key={i} class={it.task ? "task" : ""}>{it.task && <Box checked={it.checked === true} />}{flow(it.tokens)}</li>);
      return ordered ? <ol key={key} start={Number(start) || 1}>{inside}</ol> : <ul key={key}>{inside}</ul>;
    }
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return (
        <div class="md-table" key={key} tabIndex={0} role="region" aria-label="table"><table>
          <thead><tr>{header.map((c, i) => <th key={i} class={c.align ?? ""}>{inline(c.tokens, "")}</th>)}</tr></thead>
          <tbody>{rows.map((r, j) => <tr key={j}>{r.map((c, i) => <td key={i} class={c.align ?? ""}>{inline(c.tokens, "")}</td>)}</tr>)}</tbody>
        </table></div>
      );
    }
    case "text": { // the text of a tight list item
      const { tokens, text } = token as Tokens.Text;
      return <span key={key}>{tokens ? inline(tokens, "") : text}</span>;
    }
    case "checkbox": return null;
    default: return <p key={key} class="md-raw">{token.raw.trimEnd()}</p>; // HTML, definitions: shown as what they are
  }
}

export function Box({ checked }: { checked: boolean }): JSX.Element {
  return <span class="md-box" role="img" aria-label={checked ? "done" : "open"}>{checked ? "☑" : "☐"}</span>;
}

function inline(tokens: Token[] | undefined, before: string): ComponentChildren {
  return tokens?.map((t, i) => {
    const shown = one(t, i, before);
    before += "text" in t && typeof t.text === "string" ? t.text : t.raw;
    return shown;
  });
}

function one(token: Token, key: number, before: string): ComponentChildren {
  switch (token.type) {
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens, before) : unescape(text);
    }
    case "escape": return unescape((token as Tokens.Escape).text);
    case "strong": return <strong key={key}>{inline((token as Tokens.Strong).tokens, before)}</strong>;
    case "em": return <em key={key}>{inline((token as Tokens.Em).tokens, before)}</em>;
    case "del": return <del key={key}>{inline((token as Tokens.Del).tokens, before)}</del>;
    case "codespan": return <code key={key}>{(token as Tokens.Codespan).text}</code>;
    case "br": return <br key={key} />;
    case "cite": return <Citation key={key} mark={(token as unknown as { ref: string }).ref} raw={token.raw} before={before} />;
    case "formula": return <Formula key={key} text={(token as unknown as { text: string }).text} />;
    case "link": {
      const { href, tokens } = token as Tokens.Link;
      if (filePath(href) !== null) return <ThreadLink key={key} path={filePath(href)!}>{inline(tokens, before)}</ThreadLink>;
      const to = safe(href);
      const shown = inline(tokens, before);
      return to === null ? <span key={key}>{shown}</span> : <Away key={key} to={to}>{shown}</Away>;
    }
    case "image": {
      const { href, text } = token as Tokens.Image;
      return <Picture key={key} url={href} alt={text} />;
    }
    case "checkbox": return null;
    default: return token.raw; // HTML and whatever else: text
  }
}

// marked leaves entities in text; in a text node they would be shown as written.
const entities: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&nbsp;": "\u00a0" };
function unescape(text: string): string {
  return text.includes("&") ? text.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (e) => entities[e] ?? e) : text;
}

function Citation({ mark, raw, before }: { mark: string; raw: string; before: string }): JSX.Element {
  return <>{useContext(Cite)(mark, before) ?? raw}</>;
}

/** The address if it is one that may be offered for clicking. */
export function safe(href: string): string | null {
  let url: URL;
  try { url = new URL(href); } catch { return null; }
  return url.protocol === "https:" || url.protocol === "http:" || url.protocol === "mailto:" ? url.href : null;
}

/** A link to elsewhere. Nothing is loaded before it is clicked, and the other side is not told where from. */
export function Away({ to, children, class: cls }: { to: string; children: ComponentChildren; class?: string }): JSX.Element {
  return <a href={to} class={cls} title={to} target="_blank" rel="noopener noreferrer nofollow" referrerpolicy="no-referrer">{children}</a>;
}

/** The name of a thread's file as agents write it, or null if the address is none. */
export function filePath(href: string): string | null {
  let path: string;
  try { path = decodeURIComponent(href.replace(/^sandbox:/, "")); } catch { return null; }
  return /^\/mnt\/user-data\/(?:outputs|uploads|workspace)\/[^\\?#\u0000-\u001f]+$/.test(path) && !path.split("/").some((part, i) => i > 0 && (part === "" || part === "." || part === "..")) ? path : null;
}

function ThreadLink({ path, children }: { path: string; children: ComponentChildren }): JSX.Element {
  return useContext(InThread) === "" ? <span>{children}</span>
    : <button type="button" class="file-link" title={path} onClick={(e) => openFile(path, e.currentTarget as HTMLElement)}>{children}</button>;
}

/** A picture among the files of the thread. Where the server wants a key it is fetched, since an address alone cannot show one. */
function ThreadPicture({ path, alt }: { path: string; alt: string }): JSX.Element {
  const thread = useContext(InThread);
  const [src, setSrc] = useState("");
  const [gone, setGone] = useState(false);
  useEffect(() => {
    setGone(false);
    const address = addressOf(thread, path) + (/\.svg$/i.test(path) ? "?preview=true" : "");
    if (!needsKey()) { setSrc(address); return; }
    let live = true, url = "";
    send("GET", address).then((a) => a.blob()).then((b) => { if (live) { url = URL.createObjectURL(b); setSrc(url); } }, () => { if (live) setGone(true); });
    return () => { live = false; if (url !== "") URL.revokeObjectURL(url); };
  }, [thread, path]);
  if (gone || src === "") return <span class="md-away">{alt || path.split("/").at(-1)}</span>;
  return <img class="md-img" src={src} alt={alt} loading="lazy" onError={() => setGone(true)} />;
}

/** A picture that came with the answer is shown, and one of the thread's files; one from elsewhere is offered as a link. */
export function Picture({ url, alt }: { url: string; alt: string }): JSX.Element {
  const here = useContext(InThread) !== "";
  const path = filePath(url);
  if (path !== null && here && /\.(?:png|jpe?g|gif|webp|avif|svg)$/i.test(path)) return <ThreadPicture path={path} alt={alt} />;
  if (/^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$/.test(url)) return <img class="md-img" src={url} alt={alt} />;
  const to = safe(url);
  const label = alt || "image";
  return to === null ? <span class="md-away">{label}</span> : <span class="md-away"><Away to={to}>{label} · {new URL(to).host}</Away></span>;
}
