// Legacy useStream in bad weather: cut connections, two tabs, a reload in mid-answer.  node trouble.mjs BASE_URL
import { base, test, finish, check, waitFor, textOf } from "./harness.mjs";
const { Client } = await import("@langchain/langgraph-sdk");
const gather = async (it) => { const out = []; for await (const x of it) out.push(x); return out; };
const ask = (content) => ({ messages: [{ type: "human", content }] });
const want = (n) => Array.from({ length: n }, (_, i) => `t${i} `).join("");

/** a fetch whose event streams break after so many bytes, the first few times */
function breaking(cuts) {
  let left = cuts.length;
  return async (input, init) => {
    const res = await fetch(input, init);
    if (!left || !(res.headers.get("content-type") ?? "").startsWith("text/event-stream")) return res;
    let budget = cuts[cuts.length - left--];
    // What came before the cut is read first, as from a socket.
    const reader = res.body.getReader();
    const body = new ReadableStream({
      async pull(c) {
        if (budget <= 0) { await reader.cancel(); c.error(new TypeError("network cut")); return; }
        const { done, value } = await reader.read();
        if (done) { c.close(); return; }
        c.enqueue(value.slice(0, budget));
        budget -= value.length;
      },
    }, { highWaterMark: 0 });
    return new Response(body, { status: res.status, headers: res.headers });
  };
}
const text = (events) => events.filter((e) => e.event === "messages").map((e) => e.data[0].content).join("");

await test("a stream that is cut again and again is resumed by the SDK itself, without loss or repetition", async () => {
  const cuts = [300, 2500, 4100].map((n) => n + Math.floor(Math.random() * 900));
  const client = new Client({ apiUrl: base, callerOptions: { fetch: breaking(cuts) } });
  const th = await client.threads.create();
  const events = await gather(client.runs.stream(th.thread_id, "slow", { input: { ...ask("x"), n: 30, delay_ms: 20 }, streamMode: ["values", "messages-tuple"], streamResumable: true }));
  check(text(events) === want(30), `whole text once (cuts ${cuts}), got: ${text(events)}`);
  check(events.filter((e) => e.event === "metadata").length === 1, "metadata once");
});
await test("two readers of one run each get everything, and one that leaves changes nothing", async () => {
  const client = new Client({ apiUrl: base });
  const th = await client.threads.create();
  const run = await client.runs.create(th.thread_id, "slow", { input: { ...ask("x"), n: 30, delay_ms: 15 }, streamMode: ["messages-tuple"] });
  const gone = new AbortController();
  const leaver = (async () => { for await (const e of client.runs.joinStream(th.thread_id, run.run_id, { lastEventId: "-1", signal: gone.signal })) if (e.event === "messages") gone.abort(); })().catch(() => {});
  const [a, b] = await Promise.all([1, 2].map(() => gather(client.runs.joinStream(th.thread_id, run.run_id, { lastEventId: "-1" }))));
  await leaver;
  check(text(a) === want(30) && text(b) === want(30), "both whole");
  check((await client.runs.get(th.thread_id, run.run_id)).status === "success", "the run ended by itself");
});
await test("a second tab that closes does not cancel the first one's run", async () => {
  const client = new Client({ apiUrl: base });
  const th = await client.threads.create();
  let run;
  const first = gather(client.runs.stream(th.thread_id, "slow", { input: { ...ask("x"), n: 30, delay_ms: 15 }, streamMode: ["messages-tuple"], onDisconnect: "cancel", onRunCreated: (p) => (run = p) }));
  await waitFor(() => run, "the run");
  const tab = new AbortController();
  await (async () => { for await (const e of client.runs.joinStream(th.thread_id, run.run_id, { lastEventId: "-1", signal: tab.signal })) if (e.event === "messages") tab.abort(); })().catch(() => {});
  check(text(await first) === want(30), "the first tab has it all");
});
await test("joins of a finished run: all, from the middle, none; each closes at once", async () => {
  const client = new Client({ apiUrl: base });
  const th = await client.threads.create();
  let run;
  const all = await gather(client.runs.stream(th.thread_id, "chat", { input: ask("x"), streamMode: ["values", "messages-tuple"], streamResumable: true, onRunCreated: (p) => (run = p) }));
  const again = await gather(client.runs.joinStream(th.thread_id, run.run_id, { lastEventId: "-1" }));
  check(JSON.stringify(again) === JSON.stringify(all), "the same again");
  for (const at of [0, 5, all.length - 2, all.length - 1]) {
    const rest = await gather(client.runs.joinStream(th.thread_id, run.run_id, { lastEventId: all[at].id }));
    check(JSON.stringify(rest) === JSON.stringify(all.slice(at + 1)), `what comes after ${at}`);
  }
  check((await gather(client.runs.joinStream(th.thread_id, run.run_id))).length === 0, "nothing new");
  const values = await gather(client.runs.joinStream(th.thread_id, run.run_id, { lastEventId: "-1", streamMode: "values" }));
  check(values.every((e) => e.event === "values" || e.event === "metadata"), "only values");
});
finish();
