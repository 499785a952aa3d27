// Package openai speaks the two wires of OpenAI, Chat Completions ([Chat]) and Responses ([Responses]),
// with OpenAI itself, with Azure, and with the many servers that speak like it: DeepSeek, Qwen, Kimi, Groq,
// OpenRouter, xAI, vLLM, Ollama.
//
// [Speech] and [Embeddings] are wires beside them, which many of these servers offer too.
//
// Requests are plain structs with the API's own names. Answers are read by a narrow decoder, which is several times
// cheaper than the official SDK's and knows the fields that only compatible servers send.
//
// # What callers may rely on
//
//   - The laws of [model.Model] hold whatever the server's habits: reasoning comes as [model.Reasoning]
//     whether it was sent as reasoning_content, reasoning, reasoning_details, a think span inside the text, a
//     summary or raw text; the pieces of a tool call are numbered 0, 1, 2 … although ids and names are
//     missing, empty or repeated; of several choices only the first is read.
//   - An answer that does not end with the provider's own word ends with an error of class
//     [model.Broken]. Once that word has come, a connection that breaks afterwards changes nothing.
//   - Nothing is retried here, not by the SDK either.
//   - The key appears in no error, event or print-out.
//   - Reasoning is sent back only to the provider that made it, as its [item.Reasoning] says, in the form that
//     this provider wants; what makes it verifiable (encrypted content, signatures) is kept.
//   - What the Responses API's own tools asked and found is kept, as [model.Opaque], and sent back behind the reasoning
//     that led to it, to the provider that made it and to no other. Chat Completions has no place for it.
//   - What this wire cannot carry (an image in a text-only model, a file by address on Chat Completions) is
//     replaced by a mention in the text, so that a conversation can move between models.
package openai
