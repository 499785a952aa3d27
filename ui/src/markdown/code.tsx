// A code block with its language and a button to copy. Colours are loaded when the first block is complete: while it is
// written, text is only added.
import { Component, type ComponentChildren, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../i18n";
import { CopyButton } from "../parts/buttons";

const tooLongToColour = 60_000;

type Make = (() => ComponentChildren) | null;

/**
 * Shows what `make` makes, and makes it once. Elements themselves are never kept in a state or a ref: one that was shown knows what it
 * stood in, and would hold the page as it was then, with all that has been taken out of it since.
 */
class Made extends Component<{ make: () => ComponentChildren }> {
  override shouldComponentUpdate(next: { make: () => ComponentChildren }): boolean { return next.make !== this.props.make; }
  override render({ make }: { make: () => ComponentChildren }): JSX.Element { return <>{make()}</>; }
}

interface CodeProps { lang: string; text: string; closed: boolean }

export function Code(props: CodeProps): JSX.Element {
  return props.lang === "mermaid" && props.closed ? <Drawn {...props} /> : <CodeText {...props} />;
}

/** A diagram, by what draws it, which is loaded with the first one. Until then it is text. */
function Drawn(props: CodeProps): JSX.Element {
  const [loaded, setLoaded] = useState<{ Diagram: typeof import("./diagram").Diagram } | null>(null);
  useEffect(() => {
    let live = true;
    void import("./diagram").then((m) => { if (live) setLoaded({ Diagram: m.Diagram }); }, () => {});
    return () => { live = false; };
  }, []);
  const code = <CodeText {...props} />;
  return loaded ? <loaded.Diagram text={props.text} code={code} /> : code;
}

function CodeText({ lang, text, closed }: CodeProps): JSX.Element {
  const [coloured, setColoured] = useState<{ make: Make }>({ make: null });
  useEffect(() => {
    if (!closed || lang === "" || text.length > tooLongToColour) return;
    let live = true;
    void import("./highlight").then((h) => { if (live) setColoured({ make: h.colour(text, lang) }); }, () => {});
    return () => { live = false; };
  }, [closed, lang, text]);
  return (
    <figure class="md-code">
      <figcaption><span>{lang || t("code")}</span><CopyButton text={() => text.replace(/\n$/, "")} label={t("copy")} /></figcaption>
      <pre tabIndex={0}><code>{coloured.make ? <Made make={coloured.make} /> : <Lines text={text} />}</code></pre>
    </figure>
  );
}

const linesOfPart = 40;

/** Text in parts of some lines. A part that is full is kept: while code is written only the last one is laid out again. */
function Lines({ text }: { text: string }): JSX.Element {
  const kept = useRef({ text: "", parts: [] as { at: number; text: string }[], covered: 0 });
  let k = kept.current;
  if (!text.startsWith(k.text.slice(k.covered), k.covered)) k = kept.current = { text: "", parts: [], covered: 0 };
  k.text = text;
  for (;;) {
    let to = k.covered;
    for (let n = 0; n < linesOfPart && to >= 0; n++) { const at = text.indexOf("\n", to); to = at < 0 ? -1 : at + 1; }
    if (to < 0 || to >= text.length) break;
    k.parts.push({ at: k.covered, text: text.slice(k.covered, to) });
    k.covered = to;
  }
  if (k.parts.length === 0) return <>{text}</>;
  return <>{[...k.parts, { at: k.covered, text: text.slice(k.covered) }].map((p) => <span class="code-part" key={p.at}>{p.text}</span>)}</>;
}

const longestFormula = 5000;

/** A formula: as it was written until what sets it is loaded, and where it cannot be set. */
export function Formula({ text, block = false }: { text: string; block?: boolean }): JSX.Element {
  const [set, setSet] = useState<{ make: Make }>({ make: null });
  useEffect(() => {
    if (text.length > longestFormula) return;
    let live = true;
    void import("./math").then((m) => { if (live) setSet({ make: m.formula(text, block) }); }, () => {});
    return () => { live = false; };
  }, [text, block]);
  const shown = set.make && <Made make={set.make} />;
  if (shown) return block ? <div class="md-formula" tabIndex={0} role="region" aria-label={t("formula")}>{shown}</div> : <span class="md-formula">{shown}</span>;
  return block ? <pre class="md-math" tabIndex={0}>{text.trimEnd()}</pre> : <code class="md-math">{text}</code>;
}
