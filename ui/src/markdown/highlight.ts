// Colours for code, loaded when they are first needed. highlight.js writes HTML; it is read back into elements with
// class names, so that nothing on the page is ever set as HTML.
import { h, type ComponentChildren } from "preact";
import core from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

for (const [name, language] of Object.entries({ bash, c, cpp, css, diff, go, java, javascript, json, markdown, python, rust, sql, typescript, xml, yaml })) {
  core.registerLanguage(name, language);
}

/** What makes the elements of the text with its colours, or null if the language is not known. */
export function colour(text: string, lang: string): (() => ComponentChildren) | null {
  if (!core.getLanguage(lang)) return null;
  const html = core.highlight(text, { language: lang, ignoreIllegals: true }).value;
  return () => elements(html);
}

const entity: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

function elements(html: string): ComponentChildren {
  const stack: ComponentChildren[][] = [[]];
  const names: string[] = [];
  for (const m of html.matchAll(/<span class="([^"]*)">|<\/span>|&([#\w]+);|([^<&]+|[<&])/g)) {
    const top = stack[stack.length - 1]!;
    if (m[1] !== undefined) { names.push(m[1]); stack.push([]); }
    else if (m[0] === "</span>") {
      const children = stack.pop()!;
      stack[stack.length - 1]!.push(h("span", { class: names.pop() ?? "" }, children));
    } else if (m[2] !== undefined) top.push(entity[m[2]] ?? m[0]);
    else top.push(m[3]);
  }
  return stack[0];
}
