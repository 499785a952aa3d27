// Diagrams, drawn by mermaid in a frame of its own and shown as pictures. A picture runs no script and loads nothing, whatever its
// text says; so what comes back from the frame needs no more trust than what a model wrote.

export interface Colours { font: string; ground: string; box: string; other: string; group: string; note: string; line: string; edge: string; text: string }
export interface Drawn { url: string; width: number; height: number; title: string }
export interface Asked { id: number; text: string; dark: boolean; colours: Colours }
export interface Answer { id: number; drawn?: { svg: string; width: number; height: number; title: string }; problem?: string }

const longest = 20_000;   // letters of a diagram: more takes seconds
const patience = 30_000;  // for loading what draws, and for one drawing
const largest = 2_000_000; // letters of a picture
const kept = new Map<string, Drawn>();
const mostKept = 60;

let frame: { element: HTMLIFrameElement; ready: Promise<void>; answers: Map<number, (a: Answer) => void> } | null = null;
let last: Promise<unknown> = Promise.resolve();
let next = 1;

/** The diagram as a picture, in the colours of the page; rejects with what is wrong with it. */
export function draw(text: string, dark: boolean): Promise<Drawn> {
  const key = (dark ? "d" : "l") + text;
  const had = kept.get(key);
  if (had) return Promise.resolve(had);
  if (text.length > longest) return Promise.reject(new Error("too long to be drawn"));
  // One after the other: the time that one takes must not be another's.
  const mine = last.then(() => one(text, dark)).then((drawn) => {
    kept.set(key, drawn);
    if (kept.size > mostKept) kept.delete(kept.keys().next().value!);
    return drawn;
  });
  last = mine.catch(() => {});
  return mine;
}

async function one(text: string, dark: boolean): Promise<Drawn> {
  frame ??= open();
  const { element, ready, answers } = frame;
  const id = next++;
  let timer = 0;
  try {
    const answer = await Promise.race([
      ready.then(() => new Promise<Answer>((resolve) => { answers.set(id, resolve); element.contentWindow?.postMessage({ id, text, dark, colours: colours() } satisfies Asked, "*"); })),
      new Promise<never>((_, reject) => { timer = window.setTimeout(() => { element.remove(); frame = null; reject(new Error("it took too long")); }, patience); }),
    ]);
    const d = answer.drawn;
    if (!d || typeof d.svg !== "string" || d.svg.length > largest || !(d.width > 0) || !(d.height > 0)) throw new Error((answer.problem ?? "").split("\n")[0] || "it cannot be drawn");
    return { url: "data:image/svg+xml;charset=utf-8," + encodeURIComponent(d.svg), width: d.width, height: d.height, title: String(d.title) };
  } finally {
    clearTimeout(timer);
    answers.delete(id);
  }
}

function open(): NonNullable<typeof frame> {
  const element = document.createElement("iframe");
  element.className = "diagram-frame";
  element.title = "mermaid";
  element.tabIndex = -1;
  element.ariaHidden = "true";
  element.setAttribute("sandbox", "allow-scripts");
  element.referrerPolicy = "no-referrer";
  element.src = "/page/diagram.html";
  const answers = new Map<number, (a: Answer) => void>();
  const ready = new Promise<void>((resolve) => answers.set(0, () => resolve()));
  addEventListener("message", (e: MessageEvent<Answer>) => {
    if (e.source === element.contentWindow && e.source !== null) answers.get(e.data.id)?.(e.data);
  });
  document.body.append(element);
  return { element, ready, answers };
}

function colours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return { font: of("--font-ui"), ground: of("--bg"), box: of("--accent-soft"), other: of("--bg-selected"), group: of("--bg-sunken"), note: of("--wait-soft"), line: of("--line-control"), edge: of("--line-strong"), text: of("--text") };
}
