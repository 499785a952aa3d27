// Formulas, loaded when the first one is shown. temml reads TeX and makes MathML, which browsers set themselves. Its tree is read
// into elements by name: nothing is set as HTML, links and styles of a formula's choice do not exist.
import { h, type ComponentChildren } from "preact";
import temml from "temml";

const allowed = new Set(["math", "semantics", "mrow", "mi", "mo", "mn", "mtext", "ms", "mspace", "msup", "msub", "msubsup", "mfrac", "msqrt", "mroot", "munder", "mover", "munderover", "mtable", "mtr", "mtd",
  "mstyle", "mpadded", "mphantom", "menclose", "mmultiscripts", "mprescripts", "none", "merror"]);
const kept = new Set(["display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "fence", "separator", "form", "lspace", "rspace", "width", "height", "depth", "linethickness", "accent", "accentunder", "movablelimits",
  "symmetric", "largeop", "minsize", "maxsize", "columnalign", "rowspacing", "columnspacing", "columnlines", "rowlines", "notation", "columnspan", "rowspan", "voffset"]);

interface Tree { type?: string; text?: string; attributes?: Record<string, unknown>; children?: Tree[] }

/** What makes the elements of the formula, or null if it cannot be read. */
export function formula(tex: string, block: boolean): (() => ComponentChildren) | null {
  try {
    const tree = temml.__renderToMathMLTree(tex, { displayMode: block, throwOnError: true, trust: false, maxSize: [20, 20], maxExpand: 200 }) as Tree;
    return () => element(tree);
  } catch { return null; }
}

function element(node: Tree): ComponentChildren {
  if (node.text !== undefined) return node.text;
  const inside = (node.children ?? []).map(element);
  if (node.type === undefined || !allowed.has(node.type)) return inside;
  const props: Record<string, string> = {};
  for (const [name, value] of Object.entries(node.attributes ?? {})) if (kept.has(name)) props[name] = String(value);
  return h(node.type, props, inside);
}
