// client.threads.stream of @langchain/langgraph-sdk over SSE and WebSocket.  node socket.mjs BASE_URL
import { base, test, finish, check, waitFor } from "./harness.mjs";
const { Client } = await import("@langchain/langgraph-sdk");
const { randomUUID } = await import("node:crypto");
// Node 20 has no WebSocket of its own; jsdom's is a real one.
globalThis.WebSocket ??= window.WebSocket;
const client = new Client({ apiUrl: base });
const ask = (content) => ({ messages: [{ type: "human", content }] });

for (const transport of ["sse", "websocket"]) {
  await test(`${transport}: values and messages of a run`, async () => {
    const thread = client.threads.stream(randomUUID(), { assistantId: "chat", transport });
    const seen = [];
    const sub = await thread.subscribe({ channels: ["lifecycle", "values", "messages"] });
    (async () => { for await (const e of sub) seen.push(e); })().catch(() => {});
    await thread.run.start({ input: ask("hi") });
    await waitFor(() => seen.some((e) => e.method === "lifecycle" && e.params.namespace.length === 0 && e.params.data.event === "completed"), "the end; got " + seen.length);
    const seqs = seen.map((e) => e.seq);
    check(seqs.every((s, i) => i === 0 || s > seqs[i - 1]), "one rising count");
    check(new Set(seen.map((e) => e.event_id)).size === seen.length, "unique ids");
    const text = seen.filter((e) => e.method === "messages" && e.params.data.event === "content-block-delta").map((e) => e.params.data.delta.text).join("");
    check(text.startsWith("Streams carry tokens"), "the text: " + text.slice(0, 40));
    await thread.close();
  });
}
finish();
