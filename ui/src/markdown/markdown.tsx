// Shows a Markdown text that may still grow. Blocks that are complete are shown once; each frame of the stream touches the last
// block and nothing else.
import { Component, type JSX } from "preact";
import { useRef } from "preact/hooks";
import { Blocks, Box, Inline } from "./inline";
import { Code, Formula } from "./code";
import { heal, Splitter, type Align, type Block } from "./split";

/** Shows text; `live` while it may still grow. */
export function Markdown({ text, live }: { text: string; live: boolean }): JSX.Element {
  const kept = useRef<{ splitter: Splitter; text: string } | null>(null);
  // What is shown grows by its end. Anything else, as a text that was written again, begins anew. While it grows only the seam
  // is compared, so that a token costs the same at the end of a long answer; the whole is compared once, at its end.
  let k = kept.current;
  if (!k || !(live ? grewFrom(text, k.text) : text.startsWith(k.text))) k = kept.current = { splitter: new Splitter(), text: "" };
  if (text.length > k.text.length) k.splitter.push(text.slice(k.text.length));
  k.text = text;
  const { blocks, settled } = k.splitter.view(!live);
  return <div class={live ? "md live" : "md"}>{chunks(blocks, settled, live)}</div>;
}

function grewFrom(text: string, was: string): boolean {
  const seam = Math.max(0, was.length - 64);
  return text.length >= was.length && text.slice(seam, was.length) === was.slice(seam);
}

const chunkSize = 24;

/** Groups of blocks, so that a frame compares a few groups and not thousands of blocks. A list or a table is never torn. */
function chunks(blocks: readonly Block[], settled: number, live: boolean): JSX.Element[] {
  const out: JSX.Element[] = [];
  for (let from = 0; from < blocks.length;) {
    let to = Math.min(blocks.length, from + chunkSize);
    while (to < blocks.length && continues(blocks[to]!)) to++;
    const group = blocks.slice(from, to);
    out.push(<Chunk key={from} blocks={group} open={live && to > settled && to === blocks.length} />);
    from = to;
  }
  return out;
}

function continues(b: Block): boolean { return b.kind === "row" || (b.kind === "item" && !b.first); }

interface ChunkProps { blocks: Block[]; open: boolean }

class Chunk extends Component<ChunkProps> {
  override shouldComponentUpdate(next: ChunkProps): boolean {
    const was = this.props;
    return next.open !== was.open || next.blocks.length !== was.blocks.length || next.blocks.some((b, i) => b !== was.blocks[i]);
  }

  override render({ blocks, open }: ChunkProps): JSX.Element {
    const out: JSX.Element[] = [];
    for (let i = 0; i < blocks.length;) {
      let end = i + 1;
      while (end < blocks.length && continues(blocks[end]!)) end++;
      const run = blocks.slice(i, end);
      const growing = open && end === blocks.length;
      out.push(<Run key={i} run={run} open={growing} />);
      i = end;
    }
    return <>{out}</>;
  }
}

/** One block, or the items of a list, or the rows of a table. */
function Run({ run, open }: { run: Block[]; open: boolean }): JSX.Element {
  const first = run[0]!;
  if (first.kind === "item") {
    const items = run.map((b, i) => <Leaf key={i} block={b} open={open && i === run.length - 1} />);
    return first.ordered ? <ol start={first.start}>{items}</ol> : <ul>{items}</ul>;
  }
  if (first.kind === "head") {
    return (
      <div class="md-table" tabIndex={0} role="region" aria-label="table"><table>
        <thead><tr>{first.cells.map((c, i) => <th key={i} class={first.align[i] ?? ""}><Inline src={c} /></th>)}</tr></thead>
        <tbody>{run.slice(1).map((b, i) => <Leaf key={i} block={b} open={open && i === run.length - 2} align={first.align} />)}</tbody>
      </table></div>
    );
  }
  return <Leaf block={first} open={open} />;
}

interface LeafProps { block: Block; open: boolean; align?: Align[] }

class Leaf extends Component<LeafProps> {
  override shouldComponentUpdate(next: LeafProps): boolean {
    return next.block !== this.props.block || next.open !== this.props.open;
  }

  override render({ block, open, align }: LeafProps): JSX.Element {
    switch (block.kind) {
      case "code": return <Code lang={block.lang} text={block.text} closed={block.closed || !open} />;
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
        return <Blocks src={open ? heal(block.src) : block.src} />;
      }
    }
  }
}
