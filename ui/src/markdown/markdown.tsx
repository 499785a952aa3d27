// Shows a Markdown text that may still grow. Blocks that are complete are shown once; each frame of the stream touches the last
// block and nothing else.
import { Component, type JSX } from "preact";
import { useRef } from "preact/hooks";
import { Blocks, Box, Inline } from "./inline";
import { Code, Formula } from "./code";
import type { Text } from "../../tasks";
import { Seam } from "./reading";
import { heal, Splitter, type Align, type Block } from "./split";

/** What was read and drawn, for tests that count it. */
export const counted = { characters: 0, blocks: 0, renders: 0 };
(globalThis as { tributaryCounts?: typeof counted }).tributaryCounts = counted;

/**
 * What was read so far. Of the blocks, `covered` stand in full pages; the splitter has the others. Blocks are kept and not the elements that
 * show them: an element knows what it stood in, and would hold the page as it was then, with all that has been taken out of it since.
 */
interface Kept { splitter: Splitter; seam: Seam; pages: PageOf[]; covered: number }
interface PageOf { at: number; blocks: Block[] }

/** Shows text; `live` while it may still grow. */
export function Markdown({ text, live }: { text: Text; live: boolean }): JSX.Element {
  const kept = useRef<Kept | null>(null);
  counted.renders++;
  // What is shown grows by its end. Anything else, as a text that was written again, begins anew.
  let k = kept.current;
  if (!k || !k.seam.goesOn(text, live)) k = kept.current = { splitter: new Splitter(), seam: new Seam(), pages: [], covered: 0 };
  const piece = k.seam.take(text);
  counted.characters += piece.length;
  k.splitter.push(piece);
  const { blocks, settled } = k.splitter.view(!live);
  return <div class={live ? "md live" : "md"}>{pages(k, blocks, settled, live)}</div>;
}

const chunkSize = 24, chunksOfPage = 8, pagesOfVolume = 16;

/**
 * Pages of some two hundred blocks, in volumes of some pages. One that is full is kept as it is and its blocks are never looked at again, so
 * that a frame costs the same however long the text is, and a browser lays out what is in sight.
 */
function pages(k: Kept, blocks: readonly Block[], settled: number, live: boolean): JSX.Element[] {
  let from = 0;
  for (;;) {
    const to = cut(blocks, from, chunkSize * chunksOfPage);
    if (to >= Math.min(settled, blocks.length - 1)) break; // the splitter needs the last two: one may be made of a line that still grows
    k.pages.push({ at: k.covered + from, blocks: blocks.slice(from, to) });
    from = to;
  }
  const rest: PageOf = { at: k.covered + from, blocks: blocks.slice(from) };
  k.splitter.release(from);
  k.covered += from;
  const volumes: JSX.Element[] = [];
  for (let i = 0; i <= k.pages.length; i += pagesOfVolume) {
    const full = k.pages.length - i >= pagesOfVolume;
    volumes.push(<Volume key={i} pages={k.pages} from={i} to={full ? i + pagesOfVolume : k.pages.length} last={full ? null : rest} open={live && blocks.length > settled} />);
  }
  return volumes;
}

interface VolumeProps { pages: PageOf[]; from: number; to: number; last: PageOf | null; open: boolean }

class Volume extends Component<VolumeProps> {
  override shouldComponentUpdate(next: VolumeProps): boolean { return next.last !== null || this.props.last !== null || next.pages !== this.props.pages; }
  override render({ pages, from, to, last, open }: VolumeProps): JSX.Element {
    const all = pages.slice(from, to).map((p) => <Page key={p.at} blocks={p.blocks} open={false} />);
    if (last) all.push(<Page key={last.at} blocks={last.blocks} open={open} />);
    return <>{all}</>;
  }
}

/** Where a group that begins at `from` ends: a table is never torn, nor a list unless it is very long. */
function cut(blocks: readonly Block[], from: number, size: number): number {
  let to = Math.min(blocks.length, from + size);
  while (to < blocks.length && continues(blocks, to)) to++;
  return to;
}

const longestRun = 48;

/** Whether a block belongs to the one before it. A long list is several, so that a new item costs the same as the first. */
function continues(blocks: readonly Block[], at: number): boolean {
  const b = blocks[at]!;
  if (b.kind === "row") return true;
  return b.kind === "item" && b.nth > 0 && b.nth % longestRun !== 0;
}

interface PageProps { blocks: Block[]; open: boolean }

class Page extends Component<PageProps> {
  override shouldComponentUpdate(next: PageProps): boolean { return differs(next, this.props); }

  override render({ blocks, open }: PageProps): JSX.Element {
    const out: JSX.Element[] = [];
    for (let from = 0; from < blocks.length;) {
      const to = cut(blocks, from, chunkSize);
      out.push(<Chunk key={from} blocks={blocks.slice(from, to)} open={open && to === blocks.length} />);
      from = to;
    }
    return <div class="md-page">{out}</div>;
  }
}

function differs(next: PageProps, was: PageProps): boolean {
  if (next.blocks === was.blocks) return next.open !== was.open;
  return next.open !== was.open || next.blocks.length !== was.blocks.length || next.blocks.some((b, i) => b !== was.blocks[i]);
}

class Chunk extends Component<PageProps> {
  override shouldComponentUpdate(next: PageProps): boolean { return differs(next, this.props); }

  override render({ blocks, open }: PageProps): JSX.Element {
    const out: JSX.Element[] = [];
    for (let i = 0; i < blocks.length;) {
      let end = i + 1;
      while (end < blocks.length && continues(blocks, end)) end++;
      out.push(<Run key={i} run={blocks.slice(i, end)} open={open && end === blocks.length} />);
      i = end;
    }
    return <>{out}</>;
  }
}

const rowsOfBody = 64;

/** One block, or the items of a list, or the rows of a table. */
function Run({ run, open }: { run: Block[]; open: boolean }): JSX.Element {
  const first = run[0]!;
  if (first.kind === "item") {
    const items = run.map((b, i) => <Leaf key={i} block={b} open={open && i === run.length - 1} />);
    const more = first.nth > 0 ? "more" : "";
    return first.ordered ? <ol start={first.from + first.nth} class={more}>{items}</ol> : <ul class={more}>{items}</ul>;
  }
  if (first.kind === "head") {
    const bodies: JSX.Element[] = [];
    for (let i = 1; i < run.length; i += rowsOfBody) bodies.push(<Body key={i} blocks={run.slice(i, i + rowsOfBody)} open={open && i + rowsOfBody >= run.length} align={first.align} />);
    return (
      <div class="md-table" tabIndex={0} role="region" aria-label="table"><table>
        <thead><tr>{first.cells.map((c, i) => <th key={i} class={first.align[i] ?? ""}><Inline src={c} /></th>)}</tr></thead>
        {bodies}
      </table></div>
    );
  }
  return <Leaf block={first} open={open} />;
}

/** Some rows of a table. */
class Body extends Component<PageProps & { align: Align[] }> {
  override shouldComponentUpdate(next: PageProps): boolean { return differs(next, this.props); }
  override render({ blocks, open, align }: PageProps & { align: Align[] }): JSX.Element {
    return <tbody>{blocks.map((b, i) => <Leaf key={i} block={b} open={open && i === blocks.length - 1} align={align} />)}</tbody>;
  }
}

interface LeafProps { block: Block; open: boolean; align?: Align[] }

class Leaf extends Component<LeafProps> {
  override shouldComponentUpdate(next: LeafProps): boolean {
    return next.block !== this.props.block || next.open !== this.props.open;
  }

  override render({ block, open, align }: LeafProps): JSX.Element {
    counted.blocks++;
    switch (block.kind) {
      case "code": return <Code lang={block.lang} text={block.text} lines={block.lines} closed={block.closed || !open} />;
      case "math": return <Formula text={block.text} block />;
      case "item": {
        const task = /^\[([ xX])\][ \t]+/.exec(block.src);
        const src = task ? block.src.slice(task[0].length) : block.src;
        const cls = (block.loose ? "loose" : "") + (task ? " task" : "");
        return <li class={cls}>{task && <Box checked={task[1] !== " "} />}<Blocks src={open ? heal(src) : src} /></li>;
      }
      case "row": return <tr>{(align ?? []).map((a, i) => <td key={i} class={a}><Inline src={block.cells[i] ?? ""} /></td>)}</tr>;
      case "head": return <Inline src={block.cells.join(" ")} />;
      case "text": {
        if (open && block.lines === 1 && block.src.trimStart().startsWith("|")) { // a table's head, before its rule has come
          return <div class="md-table"><table><thead><tr>{block.src.split("|").slice(1).map((c, i) => <th key={i}>{c.trim()}</th>)}</tr></thead></table></div>;
        }
        if (block.more) return <p class="more"><Inline src={open ? heal(block.src) : block.src} /></p>;
        return <Blocks src={open ? heal(block.src) : block.src} />;
      }
    }
  }
}
