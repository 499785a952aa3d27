// A block of a tool's result or of a message that is no running text: text as it came, pictures, files.
import type { JSX } from "preact";
import type { Block } from "../../tasks";
import { t } from "../i18n";
import { Away, Picture, safe } from "../markdown/inline";

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
