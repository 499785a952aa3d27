// Runs in a frame that has no origin, no network and no way out but a message (page/diagram.html; internal/server/page has its
// policy). Whatever a diagram's text brings mermaid to do, it does there.
import mermaid from "mermaid";
import type { Asked, Answer, Colours } from "./draw";

const tell = (answer: Answer) => parent.postMessage(answer, "*"); // none but our own page can have this frame

function setUp(c: Colours, dark: boolean): void {
  mermaid.initialize({
    startOnLoad: false, securityLevel: "strict", suppressErrorRendering: true, deterministicIds: true, htmlLabels: false, flowchart: { htmlLabels: false }, class: { htmlLabels: false }, state: { htmlLabels: false } as object,
    layout: "dagre", maxTextSize: 50_000, maxEdges: 400, theme: "base", darkMode: dark, fontFamily: c.font, fontSize: 14,
    secure: ["secure", "securityLevel", "startOnLoad", "maxTextSize", "suppressErrorRendering", "maxEdges", "htmlLabels", "themeCSS", "fontFamily", "altFontFamily"],
    themeCSS: ".edgeLabel rect, .edgeLabel .background, .labelBkg { opacity: 1 !important; } .actor, rect.actor { filter: none !important; }", // words on a line are read, not the line
    themeVariables: {
      darkMode: dark, background: c.ground, fontFamily: c.font, fontSize: "14px", mainBkg: c.box, nodeBorder: c.line, clusterBkg: c.group, clusterBorder: c.edge,
      primaryColor: c.box, primaryTextColor: c.text, primaryBorderColor: c.line, secondaryColor: c.other, secondaryTextColor: c.text, secondaryBorderColor: c.line, tertiaryColor: c.group, tertiaryTextColor: c.text, tertiaryBorderColor: c.edge,
      lineColor: c.line, textColor: c.text, titleColor: c.text, edgeLabelBackground: c.ground, nodeTextColor: c.text, noteBkgColor: c.note, noteTextColor: c.text, noteBorderColor: c.edge,
      actorBkg: c.box, actorBorder: c.line, actorTextColor: c.text, actorLineColor: c.edge, signalColor: c.text, signalTextColor: c.text, labelBoxBkgColor: c.group, labelBoxBorderColor: c.edge, labelTextColor: c.text, loopTextColor: c.text,
      dropShadow: "none", activationBkgColor: c.other, activationBorderColor: c.line, sequenceNumberColor: c.ground,
    },
  });
}

/** As XML, with a size of its own: a picture has no page around it to be as wide as. */
function picture(svg: string): NonNullable<Answer["drawn"]> {
  const place = document.createElement("div");
  place.innerHTML = svg;
  const root = place.querySelector("svg");
  const box = root?.viewBox.baseVal;
  if (!root || !box || !(box.width > 0) || !(box.height > 0)) throw new Error("nothing was drawn");
  const width = Math.ceil(box.width), height = Math.ceil(box.height);
  root.setAttribute("width", String(width));
  root.setAttribute("height", String(height));
  root.removeAttribute("style");
  return { svg: new XMLSerializer().serializeToString(root), width, height, title: root.querySelector(":scope > title")?.textContent ?? "" };
}

addEventListener("message", (e: MessageEvent<Asked>) => {
  if (e.source !== parent) return;
  const { id, text, dark, colours } = e.data;
  setUp(colours, dark);
  mermaid.render("d" + id, text).then(({ svg }) => tell({ id, drawn: picture(svg) }))
    .catch((err: unknown) => tell({ id, problem: err instanceof Error ? err.message : String(err) }))
    .finally(() => document.body.replaceChildren());
});
tell({ id: 0 }); // ready
