// What screen readers are told of a text that grows. TypeScript is built to build/ by npm test.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sentences } from "./build/src/store/speech.js";

const most = 60;
const text = "## The river\n\nIt carries **boats**, `unhurriedly`. Nobody counts [them](https://example.org) twice![^1] " +
  "This sentence is so long that nobody would want to hear all of it at once, and so it is cut between two of its words, which is better than not at all.\n\n" +
  "| a | b |\n|---|--:|\n| 1 | 2 |\n\n- 水往低处流。船很慢！\n- " + "𝒳".repeat(100) + "\n\nThe end";

// All that is told while the text comes in pieces, with a tick of the clock after each.
function told(size) {
  const parts = [];
  let from = 0, shown = 0;
  const tick = (ended) => {
    const { said, upTo } = sentences(text.slice(0, shown), from, most, ended);
    assert.ok(upTo >= from && upTo <= shown, `from ${from} to ${upTo} of ${shown}`);
    assert.ok(upTo - from <= most, `${upTo - from} letters at once: ${said}`);
    parts.push({ said, source: text.slice(from, upTo) });
    from = upTo;
  };
  for (; shown < text.length; shown = Math.min(text.length, shown + size)) tick(false);
  for (let n = -1; n !== from; ) { n = from; tick(false); }
  tick(true);
  return parts;
}

for (const size of [1, 2, 7, 40, 1000]) {
  test(`in pieces of ${size}: everything is told once, in order, a little at a time`, () => {
    const parts = told(size);
    assert.equal(parts.map((p) => p.source).join(""), text);
    for (const p of parts) assert.ok(p.source.isWellFormed(), "a letter is torn: " + p.source);
    const said = parts.map((p) => p.said).filter((s) => s !== "");
    assert.ok(said.length < text.length / 8, `${said.length} announcements`);
    assert.match(said.join(" "), /^The river\.? It carries boats, unhurriedly\. Nobody counts them twice! This sentence .* at all\.? .*1 2.*水往低处流。 ?船很慢！.*The end$/u);
    assert.ok(!/[*`|]|---|\]\(/.test(said.join("")), "marks are told: " + said.join("\n"));
  });
}

test("a text that ends far ahead of the listener is not told to its end", () => {
  assert.deepEqual(sentences("One. " + "word ".repeat(100), 0, most, true), { said: "", upTo: 0 });
});
