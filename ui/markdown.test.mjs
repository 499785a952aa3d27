// Laws of the Markdown splitter, on texts cut at every letter. TypeScript is built to build/ by npm test.
import assert from "node:assert/strict";
import { test } from "node:test";
import { heal, split, Splitter } from "./build/src/markdown/split.js";

const texts = {
  "paragraphs": "One\ntwo\n\nthree **four**\n\n\nfive",
  "headings": "# a\ntext\nunder\n===\n\nx\n---\n\n## b\n### c\n***\n- - -\n",
  "lists": "- a\n- b\n  - c\n\n  more of b\n- d\n\n1. x\n2. y\n\n3. z\n\npara\n* other\n+ third\n10) ten\n",
  "a list after words": "words\n2. no list\n1. a list\n\nend",
  "code": "before\n```go\nfunc f() {\n\n}\n```\nafter\n~~~~\n```\n~~~~\n\n```\nopen to the end\n",
  "code in a list": "1. do\n   ```sh\n   ls\n\n   pwd\n   ```\n2. done\n",
  "tables": "| a | b |\n|:--|--:|\n| 1 | `x|y` |\n| 2 | 3\\|4 |\nno bar\n\n| not | a table |\ntext\n\na|b\n-|-\n",
  "quotes": "> a\n> b\nlazy\n\n> c\n\ntext\n> d\n",
  "indented code": "text\n\n    a\n\n    b\n\nend\n",
  "formulas": "$$\na^2\n$$\n\n\\[\nb\n\\]\n",
  "windows": "a\r\n- b\r\n- c\r\n```\r\nd\r\n```\r\n",
  "tasks": "- [x] a\n- [ ] b\n",
};

for (const [name, text] of Object.entries(texts)) {
  test(`${name}: the blocks are a function of the text, however it was cut`, () => {
    const whole = split(text);
    for (const size of [1, 2, 3, 7]) {
      const s = new Splitter();
      for (let i = 0; i < text.length; i += size) {
        s.push(text.slice(i, i + size));
        s.view(false); // looking does not disturb
      }
      assert.deepEqual(s.view(true).blocks, whole, `pieces of ${size}`);
    }
  });

  test(`${name}: a settled block stays the same object`, () => {
    const s = new Splitter();
    let before = [];
    for (const c of text) {
      s.push(c);
      const { blocks, settled } = s.view(false);
      before.forEach((b, i) => assert.equal(blocks[i], b, `block ${i} after ${JSON.stringify(c)}`));
      before = blocks.slice(0, settled);
    }
  });

  test(`${name}: no text is lost`, () => {
    const letters = (t) => t.replace(/[^\p{L}\p{N}]/gu, "");
    const shown = split(text).map((b) => ("cells" in b ? b.cells.join(" ") : b.kind === "item" ? (b.ordered ? b.start : "") + b.src : b.kind === "code" ? b.lang + b.text : b.src ?? b.text)).join(" ");
    assert.equal(letters(shown), letters(text));
  });
}

test("kinds of blocks", () => {
  const kinds = (t) => split(t).map((b) => b.kind);
  assert.deepEqual(kinds(texts.code), ["text", "code", "text", "code", "code"]);
  assert.deepEqual(kinds("| a | b |\n|---|---|\n| 1 | 2 |\n"), ["head", "row"]);
  assert.deepEqual(kinds(texts["code in a list"]), ["item", "item"]);
  assert.deepEqual(kinds(texts["a list after words"]), ["text", "item", "text"]);
});

test("a piece costs its own lines: a long open code block is not read again", () => {
  const s = new Splitter();
  s.push("```\n");
  let looked = 0;
  const line = Splitter.prototype.line;
  Splitter.prototype.line = function (...a) { looked++; return line.apply(this, a); };
  try {
    for (let i = 0; i < 2000; i++) { s.push(`line ${i}\n`); s.view(false); }
  } finally { Splitter.prototype.line = line; }
  assert.equal(looked, 2000);
});

test("half-written marks are not shown", () => {
  for (const [src, want] of [
    ["a **bold", "a **bold**"], ["a **bold*", "a **bold**"], ["a **", "a "], ["a `co", "a `co`"], ["a `", "a "], ["a *it", "a *it*"],
    ["see [the text](http://exam", "see the text"], ["see [the te", "see the te"], ["cited.[^1", "cited."], ["cited.[^", "cited."], ["done **b** and `c`", "done **b** and `c`"],
    ["a ![pic](http://x/y", "a pic"],
  ]) assert.equal(heal(src), want, src);
});
