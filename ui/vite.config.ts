import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (name: string) => fileURLToPath(new URL("src/diagrams/" + name, import.meta.url));
// Kinds of diagrams that are left out, with their libraries: models hardly write them, and together they are larger than all the rest (docs/adr/0030).
const rare = "abnf|architecture|block|c4|cynefin|ebnf|gitGraph|info|ishikawa|peg|railroad|requirement|sankey|swimlanes|usecase|venn|wardley";
const leftOut = new RegExp(`^(?:katex|\\./(?:chunks/mermaid\\.core/)?(?:(?:${rare})Diagram|kanban-definition|diagram|swimlanes|elk|cose-bilkent|bpmnIcons)-[A-Z0-9]+\\.mjs)$`);

// The build must give the same bytes everywhere: names are hashes of contents, and nothing of the machine goes in.
export default defineConfig({
  base: "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  resolve: { alias: [{ find: leftOut, replacement: here("left-out.ts") }, { find: "@mermaid-js/parser", replacement: here("parser.ts") }] },
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    assetsDir: "page",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
    // The page, and the frame that diagrams are drawn in.
    rolldownOptions: {
      input: ["index.html", "page/diagram.html"],
      // What mermaid itself is, in files of at most 300 kB: each with all that it needs, so that none waits for another in a circle.
      output: { codeSplitting: { groups: [
        { name: "drawing-base", test: /mermaid\.core\/chunk-BG4553SI/, priority: 2 },
        { name: "drawing-shapes", test: /mermaid\.core\/chunk-AXFCVDMN/, priority: 1 },
      ] } },
    },
  },
});
