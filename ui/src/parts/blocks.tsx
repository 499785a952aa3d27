// The blocks of a tool's result: passages that can be cited, texts, pictures, files.
import type { JSX } from "preact";
import type { Block } from "../../tasks";
import { t } from "../i18n";
import { Away, Picture, safe } from "../markdown/inline";
import type { Turn } from "../store/turn";
import { opened } from "./sources";

export function Blocks({ blocks, turn, error }: { blocks: Block[]; turn: Turn | null; error: boolean }): JSX.Element {
  const passages = blocks.filter((b) => typeof b.id === "number" && b.type === "text");
  const rest = blocks.filter((b) => !passages.includes(b));
  return (
    <>
      {passages.length > 0 && (
        <ol class="passages">
          {passages.map((b) => {
            const [title = "", place = ""] = (b.name ?? b.url ?? "").split(" — ");
            return (
              <li key={b.id}><button type="button" class="list-row" onClick={(e) => {
                if (turn) opened.value = { turn, ref: String(b.id), quote: "", from: e.currentTarget as HTMLElement };
              }}>
                <span class="num">{b.id}</span><span class="name">{title}</span><span class="excerpt">{firstLine(b.text ?? "")}</span>
                <span class="meta">{file(place)}</span>
              </button></li>
            );
          })}
        </ol>
      )}
      {rest.map((b, i) => <One key={i} block={b} error={error} />)}
    </>
  );
}

function firstLine(text: string): string { return (text.split("\n").find((l) => l.trim() !== "") ?? "").slice(0, 160); }

/** The file's name in a place like tributary/wire/task.md#try-it. */
function file(place: string): string { return place.split("#")[0]!.split("/").at(-1) ?? ""; }

export function One({ block, error = false }: { block: Block; error?: boolean }): JSX.Element {
  switch (block.type) {
    case "text": return <pre class={"raw" + (error ? " error" : "")} tabIndex={0}>{block.text}</pre>;
    case "image": return <Picture url={block.image_url?.url ?? block.url ?? ""} alt={block.name ?? ""} />;
    case "file": {
      const to = safe(block.url ?? "");
      const name = block.name ?? block.url ?? t("code");
      return <p class="md-away">{to ? <Away to={to}>{name}</Away> : name}{block.mime_type ? " · " + block.mime_type : ""}</p>;
    }
    default: return <pre class="raw" tabIndex={0}>{JSON.stringify(block, null, 2)}</pre>;
  }
}
