// A code block with its language and a button to copy. Colours are loaded when the first block is complete: while it is
// written, text is only added.
import { Component, type ComponentChildren, type JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../i18n";
import { CopyButton } from "../parts/buttons";
import { noLines, type Lines } from "./split";

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

/** `lines` are the text once more, as it is kept while it grows. */
interface CodeProps { lang: string; text: string; lines?: Lines; closed: boolean }

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

function CodeText({ lang, text, lines, closed }: CodeProps): JSX.Element {
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
      <pre tabIndex={0}><code>{coloured.make ? <Made make={coloured.make} /> : <Plain of={lines ?? { ...noLines, rest: text }} />}</code></pre>
    </figure>
  );
}

const partsOfGroup = 32;

/** Text in parts of some lines. A part that is full is kept: while code is written only the last one is laid out again. */
function Plain({ of: { parts, rest } }: { of: Lines }): JSX.Element {
  if (parts.length === 0) return <>{rest}</>;
  const groups: JSX.Element[] = [];
  for (let i = 0; i < parts.length; i += partsOfGroup) groups.push(<Parts key={i} parts={parts.slice(i, i + partsOfGroup)} />);
  return <>{groups}<span class="code-part" key="rest">{rest}</span></>;
}

class Parts extends Component<{ parts: readonly string[] }> {
  override shouldComponentUpdate({ parts }: { parts: readonly string[] }): boolean {
    return parts.length !== this.props.parts.length || parts.some((p, i) => p !== this.props.parts[i]);
  }
  override render({ parts }: { parts: readonly string[] }): JSX.Element { return <>{parts.map((p, i) => <span class="code-part" key={i}>{p}</span>)}</>; }
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
