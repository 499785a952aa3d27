// A report as a file of its own. What is written is what the page shows, so nothing can be in it that the page would not show.
import type { Source } from "../store/output";
import { label } from "../store/output";
import { t } from "../i18n";

const style = "body{max-width:44rem;margin:3rem auto;padding:0 1.5rem;font:16px/1.65 system-ui,sans-serif;color:#192022}h1,h2,h3{line-height:1.25}pre{overflow:auto;padding:1em;background:#f0f3f3}" +
  "table{border-collapse:collapse}td,th{padding:.4em 1em .4em 0;border-bottom:1px solid #ccd;text-align:left}blockquote{margin:0;padding-left:1em;border-left:3px solid #ccd;color:#465256}sup a{text-decoration:none}li:target,sup:target{background:#fbe9a9}";

const shift: Record<string, string> = { H3: "h2", H4: "h3", H5: "h4", H6: "h5" };

/** The rendered report as one HTML page, without scripts: citations are links to the list at its end, and back. */
export function exported(paper: HTMLElement, title: string, cited: Source[]): string {
  const doc = document.implementation.createHTMLDocument(title);
  doc.documentElement.lang = document.documentElement.lang;
  const seen = new Map<string, number>();
  const known = new Set(cited.map((s) => s.ref));
  for (const part of paper.querySelectorAll(".md")) {
    const copy = doc.importNode(part, true) as HTMLElement;
    for (const chip of copy.querySelectorAll<HTMLElement>(".chip")) {
      const ref = chip.dataset["ref"] ?? "";
      const n = seen.get(ref) ?? 0;
      seen.set(ref, n + 1);
      const up = doc.createElement("sup");
      up.id = `cite-${ref}-${n}`;
      if (known.has(ref)) { const a = doc.createElement("a"); a.href = `#ref-${ref}`; a.textContent = `[${label(ref)}]`; up.append(a); } else up.textContent = `[${label(ref)}]`;
      chip.replaceWith(up);
    }
    for (const gone of copy.querySelectorAll("button, figcaption")) gone.remove();
    for (const h of [...copy.querySelectorAll("h3, h4, h5, h6")]) {
      const as = doc.createElement(h.classList.contains("md-h1") ? "h1" : (shift[h.tagName] ?? "h5"));
      as.append(...h.childNodes);
      h.replaceWith(as);
    }
    for (const e of copy.querySelectorAll("*")) for (const a of ["class", "tabindex", "role", "aria-label", "title"]) e.removeAttribute(a);
    doc.body.append(...copy.childNodes);
  }
  if (cited.length > 0) {
    const head = doc.createElement("h2");
    head.textContent = t("references");
    const list = doc.createElement("ul");
    for (const s of cited) {
      const li = doc.createElement("li");
      li.id = "ref-" + s.ref;
      li.append(`[${label(s.ref)}] ${s.title}${s.place !== "" && s.place !== s.title ? ", " + s.place : ""} `);
      for (let n = 0; n < (seen.get(s.ref) ?? 0); n++) { const a = doc.createElement("a"); a.href = `#cite-${s.ref}-${n}`; a.textContent = "↑" + String.fromCharCode(97 + (n % 26)); li.append(a, " "); }
      list.append(li);
    }
    doc.body.append(head, list);
  }
  // The sheet goes in as text: a document of this page stands under the page's own policy, which knows no inline styles.
  return "<!doctype html>\n" + doc.documentElement.outerHTML.replace("<head>", `<head><meta charset="utf-8"><style>${style}</style>`) + "\n";
}
