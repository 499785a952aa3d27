// What the page reads out of a tool call while it is still written.
import assert from "node:assert/strict";
import test from "node:test";
import { changes, exitOf, fieldsOf, findsIn, plainOutput } from "./build/src/store/calls.js";

test("every beginning of an object gives the beginnings of its texts, and never anything else", () => {
  const whole = { path: "/a \"b\"\\\n\u00e9\ud83d\ude00.go", n: -12.5, deep: { list: ["x", "y,}", { k: "v" }], on: true }, content: "one\ntwo {\"three\": [4]}, \u4e2d", last: null };
  for (const text of [JSON.stringify(whole), JSON.stringify(whole, null, 1)]) {
    let longest = 0;
    for (let n = 0; n <= text.length; n++) {
      const got = fieldsOf(text.slice(0, n));
      for (const [key, value] of Object.entries(got)) {
        assert.ok(Object.hasOwn(whole, key), `${key} is no member; at ${text.slice(0, n)}`);
        if (typeof value === "string") assert.ok(whole[key].startsWith(value) || /[\ud800-\udbff]$/.test(value), `${key} is ${value}; at ${text.slice(0, n)}`);
      }
      const length = (got.content ?? "").length;
      assert.ok(length >= longest, `the content shrank at ${text.slice(0, n)}`);
      longest = Math.max(longest, length);
    }
    assert.deepEqual(fieldsOf(text), whole);
  }
  for (const bad of ["", "null", "[1]", "7", "nonsense", '{"a":}']) assert.equal(typeof fieldsOf(bad), "object");
});

test("output is shown as a plain terminal shows it", () => {
  assert.equal(plainOutput("\u001b[1;31mred\u001b[0m \u001b]0;title\u0007plain\r\n10%\r20%\r\nend\u0007"), "red plain\n20%\nend");
  assert.equal(plainOutput("cut \u001b"), "cut ");
  assert.equal(plainOutput("a\rb\r"), "b");
});

test("how a command ended is read from its last line only", () => {
  assert.equal(exitOf("x\n[exit code 0]")?.code, 0);
  assert.equal(exitOf("[ended by SIGKILL, exit code 137: it took too long]\n[in outputs, new or changed: a]")?.code, 137);
  assert.equal(exitOf("[exit code 1]\nmore"), null);
});

test("a diff has all lines of both texts, in their order", () => {
  let seed = 7;
  const next = (n) => { seed = (seed * 48271) % 2147483647; return seed % n; };
  for (let i = 0; i < 500; i++) {
    const lines = () => Array.from({ length: next(12) }, () => "abc"[next(3)]);
    const a = lines(), b = lines();
    const diff = changes(a.join("\n"), b.join("\n"));
    assert.deepEqual(diff.filter((l) => l.kind !== "new").map((l) => l.text), a);
    assert.deepEqual(diff.filter((l) => l.kind !== "gone").map((l) => l.text), b);
  }
});

test("finds are blocks that can be cited or have an address, and lists of pages", () => {
  const { finds, rest } = findsIn([{ type: "text", id: 3, name: "One — example.org", url: "https://example.org/1", text: "a\nb" }, { type: "text", text: '{"results":[{"title":"Two","link":"https://two.example/x","content":"c"}]}' }, { type: "text", text: "just words" }]);
  assert.deepEqual(finds.map((f) => [f.ref, f.title, f.source, f.snippet]), [[3, "One", "example.org", "a b"], [null, "Two", "two.example", "c"]]);
  assert.equal(rest.length, 1);
});
