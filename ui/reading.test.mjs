// Laws of what a report tells of itself, on texts cut anywhere. TypeScript is built to build/ by npm test.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Reading } from "./build/src/markdown/reading.js";
import { Splitter } from "./build/src/markdown/split.js";

const report = "# Low water\n\nThe gauge fell.[^1] It **rose** again.[^2][^1]\n\n```\n# no heading [^9]\n```\n\nUnder *lines*\n---\n\n- a point, `not [^8]`, cited[^3]\n- another\n\n" +
  "| a | b |\n|---|---|\n| one | two[^4] |\n\n> # quoted\n\n## References\n\n[^1]: First, see [^2]\n[^2]: Second\n";

const told = (r, text, live) => { const { body, headings, spots } = r.of(text, live); return { body: body.slice(0), headings, spots }; };

test("headings, citations with the words before them, and a body without references", () => {
  const { body, headings, spots } = told(new Reading(), report, false);
  assert.deepEqual(headings, [{ depth: 1, title: "Low water" }, { depth: 2, title: "Under lines" }]);
  assert.deepEqual(spots, [{ ref: "1", words: "The gauge fell." }, { ref: "2", words: "It rose again." }, { ref: "1", words: "It rose again." }, { ref: "3", words: "a point, , cited" }, { ref: "4", words: "two" }]);
  assert.equal(body, report.slice(0, report.indexOf("## References")));
});

test("they are a function of the text, however it came", () => {
  const whole = told(new Reading(), report, false);
  for (const size of [1, 2, 3, 7, 50]) {
    const r = new Reading();
    for (let n = size; n < report.length; n += size) r.of(report.slice(0, n), true);
    assert.deepEqual(told(r, report, false), whole, `pieces of ${size}`);
    assert.deepEqual(told(r, "Another.[^5]", true), { body: "Another.[^5]", headings: [], spots: [{ ref: "5", words: "Another." }] }, "a text that was written again");
  }
});

test("references are not shown while they are written", () => {
  const r = new Reading();
  const from = report.indexOf("[^1]: First");
  for (let n = 1; n <= report.length; n++) {
    const { body } = told(r, report.slice(0, n), true);
    assert.ok(!/^\[/m.test(body), `after ${n} letters the body ends with ${JSON.stringify(body.slice(-30))}`);
    if (n > from + 5) assert.ok(!body.includes("References"), `after ${n} letters the heading of the references is shown`);
  }
});

test("a piece costs the same at the end of a long report, and lists in which nothing is new stay the same", () => {
  let looked = 0;
  const line = Splitter.prototype.line;
  Splitter.prototype.line = function (l) { looked += l.length; return line.call(this, l); };
  try {
    const r = new Reading();
    const of = (text, added) => { looked = 0; const was = r.of(text, true); const now = r.of(text + added, true); return { cost: looked, was, now }; };
    const short = of(report.slice(0, 200), " word");
    const long = report.slice(0, report.indexOf("## References")).repeat(2000);
    r.of(long, true);
    const far = of(long + "more of it", " word");
    assert.ok(far.cost <= short.cost + 200, `a word costs ${far.cost} letters at the end, ${short.cost} at the beginning`);
    assert.ok(far.was.headings.length === 4000 && far.was.spots.length === 10_000, `${far.was.headings.length} headings, ${far.was.spots.length} spots`);
    assert.equal(far.now.headings, far.was.headings);
    assert.equal(far.now.spots, far.was.spots);
  } finally { Splitter.prototype.line = line; }
});
