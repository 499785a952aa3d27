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
  "a paragraph that does not end": "Once upon a time " + "there was *a river* of [words](http://x/y). ".repeat(300) + "\n\nend",
  "one that never closes its mark": "A **bold " + "word and another. ".repeat(700) + "end\n- item\n",
  "one without a gap": "河".repeat(13_000) + "😀".repeat(200) + "\nnext line\n\nend",
  "one in many lines": "One line *of it*\n".repeat(900) + "# head\n",
  "one like code": "``` is " + "no fence, since it goes on. ".repeat(300) + "with ` a mark",
};

for (const [name, text] of Object.entries(texts)) {
  test(`${name}: the blocks are a function of the text, however it was cut`, () => {
    const whole = split(text);
    for (const size of text.length > 5000 ? [7, 4999] : [1, 2, 3, 7]) {
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

test("a piece of a paragraph costs the same at its end, however long it is", () => {
  let longest = 0;
  const line = Splitter.prototype.line;
  Splitter.prototype.line = function (text) { longest = Math.max(longest, text.length); return line.call(this, text); };
  try {
    for (const [word, breaks] of [["words come. ", 0], ["words, words, ", 0], ["字字字字字字字字", 0], ["words, words, ", 5]]) {
      const s = new Splitter();
      for (let i = 0; s.length < 100_000; i++) {
        s.push(breaks > 0 && i % breaks === 0 ? "\n" : word);
        const { blocks } = s.view(false);
        longest = Math.max(longest, blocks.at(-1)?.src.length ?? 0);
        s.release(Math.max(0, blocks.length - 2));
      }
    }
  } finally { Splitter.prototype.line = line; }
  assert.ok(longest < 13_000, `${longest} letters of a paragraph were looked at again`);
});

test("a paragraph is cut where no mark is open, and goes on as it was", () => {
  const blocks = split("Look: " + "see *one. two* of [the. text](http://x/y.z). ".repeat(400));
  assert.ok(blocks.length > 3, `${blocks.length} blocks`);
  blocks.forEach((b, i) => {
    assert.equal(b.more === true, i > 0);
    assert.ok(i === 0 || b.src.startsWith("see *one"), `block ${i} begins with ${b.src.slice(0, 20)}`);
  });
});

test("half-written marks are not shown", () => {
  for (const [src, want] of [
    ["a **bold", "a **bold**"], ["a **bold*", "a **bold**"], ["a **", "a "], ["a `co", "a `co`"], ["a `", "a "], ["a *it", "a *it*"],
    ["see [the text](http://exam", "see the text"], ["see [the te", "see the te"], ["cited.[^1", "cited."], ["cited.[^", "cited."], ["done **b** and `c`", "done **b** and `c`"],
    ["a ![pic](http://x/y", "a pic"],
  ]) assert.equal(heal(src), want, src);
});
