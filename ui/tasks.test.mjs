// Run by `npm test`, and by `go test ./ui`, which adds random runs (TASKS_RUNS names their file).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Tasks, segments, textIn } from "./build/tasks.js";

const golden = new URL("../internal/wire/task/testdata/", import.meta.url);
const vectors = new URL("../internal/cite/testdata/", import.meta.url);
const readJSON = (name, folder = golden) => JSON.parse(readFileSync(new URL(name, folder), "utf8"));

function fold(name) {
  const tasks = new Tasks();
  for (const line of readFileSync(new URL(name, golden), "utf8").trim().split("\n")) {
    assert.ok(tasks.apply(JSON.parse(line)), line);
  }
  return tasks;
}

// Byte for byte after canonical JSON: keys sorted.
function canonical(v) {
  return JSON.stringify(v, (_, value) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value);
}

for (const name of ["canonical-main", "canonical-image-partial", "canonical-subagent"]) {
  test(`${name} folds to its final state`, () => {
    const tasks = fold(`${name}.jsonl`);
    assert.equal(tasks.root(), "task_p1");
    assert.equal(canonical(tasks.task("task_p1")), canonical(readJSON(`${name}.final.json`)));
  });
}

for (const [name, root] of [["seed-main", "task_1234xyz"], ["seed-subagent", "call_1234xyz"]]) {
  test(`${name} folds as computed`, () => {
    assert.equal(canonical(fold(`${name}.jsonl`).task(root)), canonical(readJSON(`${name}.folded-computed.json`)));
  });
}

test("seed-passthrough folds to its container", () => {
  const tasks = fold("seed-passthrough.jsonl");
  const { output } = tasks.task(tasks.root());
  assert.equal(output.length, 1);
  assert.equal(canonical({ ...output[0], task_id: tasks.root() }), canonical(readJSON("seed-passthrough.folded-computed.json")));
});

test("any part of a text that grows can be read, now and later, and is what the whole says there", () => {
  const tasks = new Tasks();
  tasks.apply({ type: "task.created", task_id: "t", sequence_number: 0 });
  tasks.apply({ type: "task.output_item.added", task_id: "t", output_index: 0, item: { type: "message", id: "m" } });
  tasks.apply({ type: "task.output_item.added", task_id: "t", output_index: 1, item: { type: "tool_call", id: "c", call_id: "c", arguments: "" } });
  tasks.apply({ type: "task.block.added", task_id: "t", output_index: 0, block_index: 0, item: { type: "text", text: "It begins. " } });
  let seed = 7;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  let said = "It begins. ", args = "";
  const taken = [];
  for (let i = 0; i < 300; i++) {
    const piece = `${i} ` + "wört ".repeat(random(i % 50 === 0 ? 900 : 12));
    said += piece;
    args += piece;
    tasks.apply({ type: "task.block.delta", task_id: "t", output_index: 0, block_index: 0, delta: piece });
    tasks.apply({ type: "task.tool_call_arguments.delta", task_id: "t", output_index: 1, delta: piece });
    const [message, call] = tasks.task("t").output;
    taken.push([message.block_list[0], said], [call, args]);
  }
  for (const [of, want] of taken) {
    const text = textIn(of);
    assert.equal(text.length, want.length);
    assert.equal(text.slice(0), want);
    for (let i = 0; i < 5; i++) {
      const from = random(want.length + 1), to = from + random(3000);
      assert.equal(text.slice(from, to), want.slice(from, to), `from ${from} to ${to} of ${want.length}`);
      assert.equal(text.slice(from), want.slice(from), `from ${from} of ${want.length}`);
    }
  }
  assert.equal(taken.at(-2)[0].text, said);
  assert.equal(taken.at(-1)[0].arguments, args);
  tasks.apply({ type: "task.block.done", task_id: "t", output_index: 0, block_index: 0, item: { type: "text", text: "Else." } });
  tasks.apply({ type: "task.tool_call_arguments.done", task_id: "t", output_index: 1, arguments: "{}" });
  const [message, call] = tasks.task("t").output;
  assert.deepEqual([textIn(message.block_list[0]).slice(0), textIn(call).slice(0)], ["Else.", "{}"]);
  tasks.apply({ type: "task.tool_call_arguments.delta", task_id: "t", output_index: 1, delta: " " });
  assert.equal(textIn(tasks.task("t").output[1]).slice(0), "{} ");
});

test("an object does not change after it was taken", () => {
  const lines = readFileSync(new URL("canonical-subagent.jsonl", golden), "utf8").trim().split("\n").map((l) => JSON.parse(l));
  const tasks = new Tasks();
  const taken = lines.map((frame) => {
    tasks.apply(frame);
    return tasks.task("task_p1");
  });
  const again = new Tasks();
  lines.forEach((frame, i) => {
    again.apply(frame);
    assert.equal(canonical(taken[i]), canonical(again.task("task_p1")), `after frame ${i}`);
  });
});

test("what has no place changes nothing", () => {
  const tasks = new Tasks();
  for (const frame of [
    null, 1, [], {}, { type: "task.created" }, { type: "other", task_id: "a" },
    { type: "task.text.delta", task_id: "a", output_index: 0, block_index: 0, delta: "x" },
    { type: "task.output_item.added", task_id: "a", output_index: -1, item: {} },
    { type: "task.custom", task_id: "a", data: {} },
    { type: "task.toString", task_id: "a" },
  ]) {
    assert.equal(tasks.apply(frame), false, JSON.stringify(frame));
  }
  // Two tasks that claim to hold each other end somewhere.
  tasks.apply({ type: "task.created", task_id: "a", parent_task_id: "b" });
  tasks.apply({ type: "task.created", task_id: "b", parent_task_id: "a" });
  assert.equal(tasks.task("a").tasks[0].task_id, "b");
});

test("segments cut by code points", () => {
  for (const v of readJSON("vectors-citations.json", vectors).vectors) {
    const annotations = v.annotations.filter((a) => a.resolved);
    const parts = segments({ type: "text", text: v.text, annotations });
    assert.equal(parts.map((p) => p.text).join(""), v.text, v.why);
    const marked = parts.filter((p) => p.annotation).map((p) => p.text);
    assert.deepEqual(marked, annotations.map((a) => v.text.slice(...a.utf16)), v.why);
  }
  const outside = { type: "text", text: "ab", annotations: [{ type: "url_citation", start_index: 1, end_index: 9 }] };
  assert.deepEqual(segments(outside), [{ text: "ab" }]);
});

// Lines of {frames, objects}: what a run streamed, and the object of each task as Go's transcript has it.
test("random runs fold to what the transcript says", { skip: !process.env.TASKS_RUNS && "go test ./ui makes the runs" }, () => {
  const lines = readFileSync(process.env.TASKS_RUNS, "utf8").trim().split("\n");
  assert.ok(lines.length > 0);
  for (const line of lines) {
    const { frames, objects } = JSON.parse(line);
    const tasks = new Tasks();
    for (const frame of frames) {
      assert.ok(tasks.apply(frame) || frame.type === "task.custom", JSON.stringify(frame));
    }
    for (const [id, object] of Object.entries(objects)) {
      assert.equal(canonical(tasks.task(id)), canonical(object), id);
    }
  }
});
