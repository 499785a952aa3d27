// The Client of @langchain/langgraph-sdk over every route that it knows.  node client.mjs BASE_URL
import { base, test, finish, check } from "./harness.mjs";
const { Client } = await import("@langchain/langgraph-sdk");
const client = new Client({ apiUrl: base });
const gather = async (it) => { const out = []; for await (const x of it) out.push(x); return out; };
const ask = (content) => ({ messages: [{ type: "human", content }] });
const fails = async (p, status, what) => {
  try { await p; } catch (e) { check(String(e.message).includes(`HTTP ${status}`), `${what}: ${status}, got ${e.message}`); return; }
  check(false, `${what} to fail with ${status}`);
};

await test("assistants", async () => {
  const a = await client.assistants.create({ graphId: "chat", name: "mine", metadata: { team: "a" }, config: { configurable: { color: "red" } } });
  check(a.version === 1 && a.name === "mine", "version 1");
  const b = await client.assistants.update(a.assistant_id, { name: "renamed", metadata: { extra: 1 } });
  check(b.version === 2 && b.metadata.team === "a" && b.metadata.extra === 1, "merged metadata, version 2");
  check((await client.assistants.getVersions(a.assistant_id)).map((v) => v.version).join() === "2,1", "versions newest first");
  check((await client.assistants.setLatest(a.assistant_id, 1)).name === "mine", "version 1 is back");
  check((await client.assistants.search({ metadata: { team: "a" } })).length === 1, "found by metadata");
  check((await client.assistants.count({ graphId: "chat" })) >= 2, "counted");
  check((await client.assistants.getGraph("subgraph", { xray: true })).nodes.some((n) => n.id === "research:search"), "drawn inside out");
  check((await client.assistants.getSchemas("slow")).state_schema.properties.n, "schema of the state");
  check((await client.assistants.getSubgraphs("subgraph")).research, "subgraphs");
  await client.assistants.delete(a.assistant_id);
  await fails(client.assistants.get(a.assistant_id), 404, "deleted assistant");
});
await test("threads", async () => {
  const th = await client.threads.create({ metadata: { user: "u1" } });
  check((await client.threads.get(th.thread_id)).status === "idle", "idle");
  check((await client.threads.getState(th.thread_id)).checkpoint === null, "empty state");
  await client.threads.update(th.thread_id, { metadata: { more: true } });
  check((await client.threads.search({ metadata: { user: "u1", more: true } })).length === 1, "found");
  check((await client.threads.count({ metadata: { user: "u1" } })) === 1, "counted");
  await client.runs.wait(th.thread_id, "chat", { input: ask("hi") });
  const state = await client.threads.getState(th.thread_id);
  check(state.values.messages.length === 2 && state.next.length === 0, "state after a run");
  const history = await client.threads.getHistory(th.thread_id);
  check(history.map((h) => h.metadata.step).join() === "1,0,-1", "history: " + history.map((h) => h.metadata.step));
  for (let i = 0; i + 1 < history.length; i++) check(history[i].parent_checkpoint.checkpoint_id === history[i + 1].checkpoint.checkpoint_id, "parent chain");
  check(history.every((h, i) => i === 0 || history[i - 1].checkpoint.checkpoint_id > h.checkpoint.checkpoint_id), "ids sort by time");
  const edited = await client.threads.updateState(th.thread_id, { values: { messages: [{ type: "ai", content: "words", id: "edit" }] }, asNode: "agent" });
  check((await client.threads.getState(th.thread_id, edited.checkpoint.checkpoint_id)).values.messages.at(-1).id === "edit", "edited");
  const copy = await client.threads.copy(th.thread_id);
  check((await client.threads.getHistory(copy.thread_id)).length === 4, "copied history");
  check((await client.threads.search({ values: { messages: [{ id: "edit" }] } })).length === 2, "found by values");
  await client.threads.delete(copy.thread_id);
  await fails(client.threads.get(copy.thread_id), 404, "deleted thread");
});
await test("runs: create, list, join, delete", async () => {
  const th = await client.threads.create();
  const run = await client.runs.create(th.thread_id, "chat", { input: ask("hi"), metadata: { k: "v" } });
  check(run.status === "pending" && run.metadata.k === "v" && run.kwargs.config.configurable.run_id === run.run_id, "the run as it was asked for");
  check((await client.runs.join(th.thread_id, run.run_id)).messages.length === 2, "joined");
  check((await client.runs.list(th.thread_id, { status: "success" })).length === 1, "listed");
  await client.runs.delete(th.thread_id, run.run_id);
  await fails(client.runs.get(th.thread_id, run.run_id), 404, "deleted run");
});
await test("runs: a background run is joined from its beginning", async () => {
  const th = await client.threads.create();
  const run = await client.runs.create(th.thread_id, "chat", { input: ask("hi"), streamMode: ["values", "messages-tuple"] });
  const seen = await gather(client.runs.joinStream(th.thread_id, run.run_id));
  check(seen[0].event === "metadata" && seen.at(-1).event === "values", "everything");
});
await test("runs: onRunCreated learns the run from the headers", async () => {
  const th = await client.threads.create();
  let created;
  await gather(client.runs.stream(th.thread_id, "custom", { input: ask("go"), onRunCreated: (p) => (created = p) }));
  check(created.thread_id === th.thread_id && created.run_id, JSON.stringify(created));
});
await test("runs: multitask strategies", async () => {
  const th = await client.threads.create();
  const slow = { input: { ...ask("one"), n: 200, delay_ms: 20 } };
  const quick = { input: { ...ask("two"), n: 1, delay_ms: 1 } };
  const first = await client.runs.create(th.thread_id, "slow", slow);
  await fails(client.runs.create(th.thread_id, "slow", { ...quick, multitaskStrategy: "reject" }), 422, "reject");
  const second = await client.runs.create(th.thread_id, "slow", { ...quick, multitaskStrategy: "interrupt" });
  await client.runs.join(th.thread_id, second.run_id);
  check((await client.runs.get(th.thread_id, first.run_id)).status === "interrupted", "the first was interrupted");
  const third = await client.runs.create(th.thread_id, "slow", slow);
  const fourth = await client.runs.create(th.thread_id, "slow", { ...quick, multitaskStrategy: "rollback" });
  await client.runs.join(th.thread_id, fourth.run_id);
  await fails(client.runs.get(th.thread_id, third.run_id), 404, "rolled back");
  const texts = (await client.threads.getState(th.thread_id)).values.messages.filter((m) => m.type === "human").map((m) => m.content);
  check(texts.join() === "one,two,two", "the questions that count: " + texts);
});
await test("runs: cancel and bulk cancel", async () => {
  const th = await client.threads.create();
  const run = await client.runs.create(th.thread_id, "slow", { input: { ...ask("x"), n: 500, delay_ms: 20 } });
  await client.runs.cancel(th.thread_id, run.run_id, true);
  check((await client.runs.get(th.thread_id, run.run_id)).status === "interrupted", "interrupted");
  const later = await client.runs.create(th.thread_id, "slow", { input: ask("x"), afterSeconds: 100 });
  await client.runs.cancelMany({ status: "pending" });
  check((await client.runs.get(th.thread_id, later.run_id)).status === "interrupted", "bulk");
});
await test("runs: stateless, batch", async () => {
  check((await client.runs.wait(null, "custom", { input: ask("go") })).messages.length === 2, "wait");
  check((await gather(client.runs.stream(null, "custom", { input: ask("go"), streamMode: "custom" }))).length === 7, "stream");
  check((await client.runs.createBatch([{ assistantId: "custom", input: ask("a") }, { assistantId: "custom", input: ask("b") }])).length === 2, "batch");
});
await test("an error is thrown by wait and named", async () => {
  const th = await client.threads.create();
  try { await client.runs.wait(th.thread_id, "failing", { input: ask("x") }); } catch (e) { check(String(e.message).includes("upstream model went away"), e.message); return; }
  check(false, "an error");
});
await test("store", async () => {
  await client.store.putItem(["users", "u1"], "profile", { name: "Ada", n: 3 });
  check((await client.store.getItem(["users", "u1"], "profile")).value.name === "Ada", "got");
  check((await client.store.getItem(["users", "u1"], "none")) === null, "missing is null");
  check((await client.store.searchItems(["users"], { filter: { n: { $gt: 2 } } })).items.length === 1, "filtered");
  check((await client.store.listNamespaces({ prefix: ["users"] })).namespaces.length === 1, "namespaces");
  await client.store.deleteItem(["users", "u1"], "profile");
  check((await client.store.getItem(["users", "u1"], "profile")) === null, "deleted");
});
await test("crons", async () => {
  const cron = await client.crons.create("chat", { schedule: "0 9 * * mon", timezone: "Europe/Berlin", input: ask("weekly") });
  check(cron.cron_id && cron.next_run_date, JSON.stringify(cron));
  check((await client.crons.search({ assistantId: cron.assistant_id })).length === 1, "found");
  check((await client.crons.count({})) === 1, "counted");
  await client.crons.delete(cron.cron_id);
  check((await client.crons.count({})) === 0, "deleted");
});
finish();
