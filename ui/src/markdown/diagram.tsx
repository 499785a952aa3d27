// A diagram in an answer: the picture, or its text while it cannot be drawn, or when somebody wants to read that.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { draw, type Drawn } from "../diagrams/draw";
import { t } from "../i18n";
import { CopyButton } from "../parts/buttons";
import { isDark } from "../prefs";

export function Diagram({ text, code }: { text: string; code: JSX.Element }): JSX.Element {
  const [drawn, setDrawn] = useState<Drawn & { dark: boolean } | null>(null);
  const [problem, setProblem] = useState("");
  const [source, setSource] = useState(false);
  const dark = isDark.value;
  useEffect(() => {
    let live = true;
    draw(text, dark).then((d) => { if (live) { setDrawn({ ...d, dark }); setProblem(""); } }, (err: unknown) => { if (live) { setDrawn(null); setProblem(err instanceof Error ? err.message : String(err)); } });
    return () => { live = false; };
  }, [text, dark]);
  if (!drawn) return <>{code}{problem !== "" && <p class="meta md-undrawn">{t("notDrawn", problem.slice(0, 200))}</p>}</>;
  return (
    <figure class="md-code md-diagram">
      <figcaption>
        <span class="segmented small">{[false, true].map((s) => <button key={String(s)} type="button" aria-pressed={source === s} onClick={() => setSource(s)}>{s ? t("sourceText") : t("diagram")}</button>)}</span>
        <CopyButton text={() => text.replace(/\n$/, "")} label={t("copy")} />
      </figcaption>
      {source ? <pre tabIndex={0}><code>{text}</code></pre>
        : <div class="md-drawing" data-dark={String(drawn.dark)} tabIndex={0} role="region" aria-label={t("diagram")}><img src={drawn.url} width={drawn.width} height={drawn.height} alt={drawn.title || t("diagram")} /></div>}
    </figure>
  );
}
