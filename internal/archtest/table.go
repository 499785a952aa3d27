package archtest

// Names for groups that several rows allow.
var (
	nouns  = []string{"event", "item"}
	public = []string{".", "agent", "agent/...", "event", "graph", "item", "memory", "model", "model/*", "tool", "tool/*", "turn"}
	// engine is all that runs without a network listener in front of it.
	engine = join(public, []string{
		"internal/background", "internal/bus/...", "internal/catalogue", "internal/cite", "internal/companion", "internal/custom", "internal/door", "internal/folder", "internal/journal", "internal/loglimit", "internal/piece", "internal/prose", "internal/run",
		"internal/secret", "internal/skill", "internal/storage/...", "internal/transcript", "internal/workspace",
	})
	outside = []string{"internal/outbound", "internal/server/...", "internal/wire/..."}
	// runs is what a route may know of them.
	runs = []string{"graph", "internal/journal", "internal/run"}
	// routes is what all dialects of the server share.
	routes    = []string{"internal/server/edge", "internal/server/feed", "internal/server/jsonvalue", "internal/server/socket", "internal/server/stream"}
	langgraph = []string{"internal/wire", "internal/wire/langgraph", "internal/wire/protocol2", "internal/wire/sse"}
	support   = []string{"event/eventtest", "internal/storage/storagetest", "internal/transcript/transcripttest"}
)

// Rules is the import table, from the ground floor up. The first row that matches a package counts.
var Rules = []Rule{
	{"internal/jsonline", nil, nil, "how JSON is spelled, whatever it says"},
	{"internal/checkup", nil, nil, "what a finding is, whatever was looked at"},
	{"internal/folder", nil, nil, "how small files are written, whatever they hold"},
	{"internal/secret", []string{"internal/folder"}, []string{"net/http"}, "it hides values, whoever brought them and whatever they are for"},
	{"internal/shelf", nil, nil, "how folders of files are kept, whatever they hold"},
	{"internal/custom", []string{"internal/shelf"}, []string{"net/http"}, "it knows what people say of an agent; who runs it, and who asks, is not its business"},
	{"internal/skill", []string{"internal/shelf"}, []string{"net/http"}, "it keeps folders of know-how, and knows nothing of who reads them"},
	{"internal/byline", []string{"internal/pattern"}, nil, "who wrote something and when, whatever it was"},
	{"internal/piece", nil, nil, "bytes, whatever they mean"},
	{"internal/prose", nil, nil, "words and sentences, whoever wrote them"},
	{"internal/pattern", nil, nil, "regular expressions that wait until somebody needs them"},
	{"internal/export", nil, nil, "it makes files out of Markdown, whoever wrote it"},
	{"item", []string{"internal/jsonline"}, nil, "the nouns are the ground floor; everything stands on them"},
	{"event", []string{"internal/jsonline", "item"}, nil, "events are plain values about items, readable by every other package"},
	{"event/eventtest", nouns, nil, "it makes events for tests and must be usable by the tests of any package"},
	{"turn", nouns, []string{"net/http"}, "it writes a model call down as lawful events, whichever model it was"},
	{"graph", join(nouns, []string{"internal/jsonline", "internal/piece", "turn"}), []string{"net/http"}, "the runtime knows fields and nodes; what nodes call is not its business"},

	{"model", []string{"item"}, nil, "a model answers a conversation and knows nothing of runs or events"},
	{"model/internal/...", []string{"internal/jsonline", "item", "model", "model/internal/..."}, nil, "what the providers share"},
	{"model/registry", []string{"item", "model", "model/*", "model/internal/known"}, nil, "it chooses among providers by name, so it is the one that sees them all"},
	{"internal/trial", []string{"item", "model"}, []string{"net/http"}, "it asks a model as anybody can, whoever serves it"},
	{"model/openai/internal/...", []string{"item", "model", "model/internal/..."}, nil, "pure decoding"},
	{"model/offline", []string{"internal/pattern", "internal/prose", "item", "model"}, nil, "it answers from texts alone, so it takes them apart"},
	{"model/*", []string{"internal/jsonline", "item", "model", "model/internal/...", "model/openai/internal/..."}, nil, "each provider stands alone, so that an embedder links only those that it uses"},
	{"tool", []string{"item"}, nil, "a tool has arguments and a result and knows nothing of runs or events"},
	{"memory", []string{"internal/pattern", "item", "tool"}, []string{"net/http"}, "it knows what is remembered; who finds it out, and whose model is told, is not its business"},
	{"internal/pdftext", nil, []string{"net/http"}, "it reads one format, whoever fetched the file"},
	{"internal/document", []string{"internal/byline", "internal/pdftext"}, []string{"net/http"}, "it turns the bytes of a file into text, wherever they come from"},
	{"tool/search", []string{"internal/byline", "internal/document", "internal/pattern", "item", "tool"}, nil, "it finds what files say, and files come in many formats"},
	{"tool/web", []string{"internal/byline", "internal/outbound", "internal/pdftext", "item", "tool"}, nil, "it makes requests for strangers, and there is one client for those: an embedder who gives none must have it too"},
	{"tool/files/filestest", nil, nil, "paths, whatever is tried with them"},
	{"tool/sandbox", []string{"item", "tool", "tool/files", "tool/sandbox/internal/jail"}, nil, "commands see the files of a thread under the names that package files gives them"},
	{"tool/sandbox/internal/jail", nil, nil, "what the program is within a jail must be there before all else is initialised"},
	{"tool/*", []string{"item", "tool"}, nil, "each tool stands alone, so that an embedder links only those that it uses"},

	{"internal/transcript", nouns, []string{"net/http"}, "a pure fold of events"},
	{"internal/transcript/transcripttest", join(nouns, support, []string{"internal/transcript"}), nil, "it makes runs for tests of folds and projections"},
	{"internal/cite", []string{"item"}, nil, "citations are found in text, wherever the text comes from"},
	{"internal/journal", nouns, []string{"net/http"}, "the log keeps events and asks its store for nothing else"},
	{"internal/loglimit", nil, nil, "it counts log lines, whoever writes them"},
	{"internal/workspace", nil, []string{"net/http"}, "it knows where files are kept; whose they are and what they say is not its business"},
	{"internal/bus/...", join(nouns, []string{"internal/bus"}), nil, "it carries wake-ups between nodes and need not know what woke"},
	{"internal/run", join(nouns, []string{"graph", "internal/bus", "internal/journal", "internal/piece", "internal/secret", "internal/transcript"}), []string{"net/http"},
		"a run executes the graph that a Build function hands it, never an agent that it knows"},
	{"agent/middleware", join(nouns, []string{"agent", "graph", "model", "tool", "tool/files"}), nil,
		"it stands around agents; what it keeps in a thread's folder has the names that the tools for files give"},
	{"agent/research", join(nouns, []string{"agent", "graph", "internal/cite", "internal/pattern", "internal/piece", "internal/prose", "internal/transcript", "model", "tool", "tool/files", "turn"}), nil,
		"an agent like others; what it leaves in a thread's folder has the names that the tools for files give"},
	{"agent/...", join(nouns, []string{"agent/...", "graph", "internal/cite", "internal/piece", "internal/prose", "internal/transcript", "model", "tool", "turn"}), nil,
		"agents are graphs of models and tools; who runs them and where they are kept is not their business"},

	{"internal/background", join(nouns, []string{"agent/lead", "graph", "internal/run"}), []string{"net/http"},
		"it begins runs for an agent's sub-agents, so it knows both; nothing else does"},

	{"internal/companion", join(nouns, []string{"agent/middleware", "graph", "internal/run"}), []string{"net/http"},
		"what people do around conversations, for the library and for routes; a goal is the middleware's word"},

	{"internal/storage/storagetest", join(nouns, support, []string{"graph", "internal/bus", "internal/journal", "internal/piece", "internal/run", "internal/storage"}), nil,
		"one suite for every backend, written against the interfaces that they implement"},
	{"internal/storage/wal", nil, nil, "it reads bytes of SQLite's and knows nothing of what they say"},
	{"internal/storage/...", join(nouns, []string{"graph", "internal/piece", "internal/folder", "internal/jsonline", "internal/journal", "internal/run", "internal/storage/..."}), nil,
		"a backend implements the interfaces of those above and decides nothing"},

	{"internal/wire/sse", nil, nil, "bytes of a stream, whatever they mean"},
	{"internal/wire", join(nouns, []string{"internal/jsonline"}), []string{"net/http"}, "it says what a dialect is"},
	{"internal/wire/task/tasktest", nil, nil, "a client knows frames and nothing of who wrote them"},
	{"internal/wire/...", join(nouns, []string{"internal/jsonline", "internal/transcript", "internal/wire", "internal/wire/graphs"}), []string{"net/http", Module + "/graph", Module + "/internal/journal", Module + "/internal/run"},
		"a dialect is a pure fold of events: no storage, no run, no network"},
	{"internal/server/jsonvalue", []string{"internal/jsonline"}, nil, "values of JSON, whatever they mean"},
	{"internal/server/admission", []string{"internal/run"}, nil, "it counts bytes, whatever they say"},
	{"internal/server/guard", []string{"event", "graph", "internal/run", "internal/server/admission"}, nil, "it knows what is changed, and no dialect that changes it"},
	{"internal/server/edge", join(runs, []string{"internal/jsonline", "internal/server/admission", "internal/server/jsonvalue"}), nil, "what requests of all dialects share, and no dialect's own words"},
	{"internal/server/feed", join(nouns, runs, []string{"internal/wire", "internal/wire/sse"}), []string{"net/http"},
		"readers of runs get bytes and bells; who writes them where is not its business"},
	{"internal/server/stream", join(runs, []string{"internal/server/admission", "internal/server/feed", "internal/wire/sse"}), nil, "it writes what any dialect's readers read"},
	{"internal/server/socket", []string{"internal/server/feed", "internal/server/stream"}, nil, "it talks for any dialect"},
	{"internal/outbound/outboundtest", nil, nil, "addresses and a trap, whoever is tried with them"},
	{"internal/outbound", nil, nil, "requests for others are made in one way, whoever needs them"},
	{"internal/server/webhook", []string{"internal/outbound", "internal/run"}, nil, "it delivers what others wrote"},
	{"internal/server/openapi", []string{"internal/server/edge", "internal/server/jsonvalue"}, nil, "it describes routes by their patterns"},
	{"internal/server/models", []string{"internal/run", "internal/server/edge", "internal/server/jsonvalue"}, nil, "it lists what others know"},
	{"internal/server/tools", []string{"internal/run", "internal/server/edge", "internal/server/jsonvalue", "tool"}, nil, "it tells what tools say of themselves"},
	{"internal/server/documents", []string{"internal/run", "internal/server/edge", "internal/server/jsonvalue"}, nil, "it shows what others found"},
	{"internal/server/skills", []string{"internal/run", "internal/server/edge", "internal/server/jsonvalue", "internal/skill"}, nil, "it shows and changes what others keep"},
	{"internal/server/agents", []string{"internal/custom", "internal/run", "internal/server/edge", "internal/server/jsonvalue"}, nil, "it shows and changes what others keep"},
	{"internal/server/companions", []string{"agent/middleware", "internal/companion", "internal/run", "internal/server/edge", "internal/server/jsonvalue"}, nil,
		"it shows what package companion knows; a goal is the middleware's word"},
	{"internal/server/memory", []string{"internal/run", "internal/server/edge", "internal/server/jsonvalue", "memory"}, nil, "it shows and changes what others keep"},
	{"internal/server/page", []string{"internal/server/edge"}, nil, "it serves files that it is handed"},
	{"internal/server/folders", []string{"internal/export", "internal/run", "internal/server/edge", "internal/server/jsonvalue", "internal/workspace", "tool/files"}, nil,
		"it serves files by the names that agents know them by, and Markdown in the formats that people hand on"},
	{"internal/server/tasks", join(nouns, runs, routes, []string{"internal/transcript", "internal/wire", "internal/wire/task"}), nil,
		"a dialect knows its own wire and no other dialect"},
	{"internal/server/chat", join(nouns, runs, routes, []string{"internal/export", "internal/server/documents", "internal/wire", "internal/wire/chat", "internal/wire/sse"}), nil, "a dialect knows its own wire and no other dialect"},
	{"internal/server/mcp", join(nouns, runs, []string{"internal/server/edge"}), nil, "a dialect knows its own wire and no other dialect"},
	{"internal/server/teams", join(nouns, runs, routes, []string{"internal/wire", "internal/wire/team"}), nil, "a dialect knows its own wire and no other dialect"},
	{"internal/server/langgraph/state", join(nouns, runs, routes, langgraph), nil, "every other resource of LangGraph's shows states"},
	{"internal/server/langgraph/threads", join(nouns, runs, routes, langgraph, []string{"internal/server/langgraph/state"}), nil, "a thread has a state, and runs have a thread"},
	{"internal/server/langgraph/runs", join(nouns, runs, routes, langgraph, []string{"internal/server/langgraph/state", "internal/server/langgraph/threads"}), nil,
		"what starts runs stands on them"},
	{"internal/server/langgraph/items", []string{"internal/run", "internal/server/edge", "internal/server/jsonvalue"}, nil, "what is remembered outlives runs and threads"},
	{"internal/server/langgraph/*", join(nouns, runs, routes, langgraph, []string{
		"internal/server/langgraph/runs", "internal/server/langgraph/state", "internal/server/langgraph/threads",
	}), nil, "resources stand beside each other"},
	{"internal/server/langgraph", join(nouns, runs, routes, langgraph, []string{"internal/server/langgraph/*"}), nil, "it puts LangGraph's resources together"},
	{"internal/server", join(runs, []string{"internal/companion", "internal/server/...", "internal/workspace", "memory"}), nil,
		"it puts the dialects together; storage, agents and models are reached only through what it is handed"},

	{"internal/catalogue", []string{"internal/custom", "internal/run", "internal/storage"}, []string{"net/http"}, "it lists assistants wherever they are kept"},
	{"internal/door", []string{"graph", "internal/catalogue", "internal/custom", "internal/journal", "internal/run", "internal/skill", "internal/workspace", "memory"}, []string{"net/http"},
		"it names the parts of a runtime for those of this module who put something around it"},
	{".", engine, []string{Module + "/internal/server", "net/http"}, "the library is the engine without a listener; it puts the parts together"},
	{"httpapi", []string{".", "internal/custom", "internal/door", "internal/outbound", "internal/run", "internal/server/..."}, nil, "it puts the server around a runtime"},
	{"examples/...", join(public, []string{"httpapi"}), nil, "what they do, everybody outside of this module can do"},
	{"ui", nil, nil, "the built page, as files"},
	{"docs", nil, nil, "the documentation, as files"},
	{"internal/eval", []string{".", "agent/research", "event", "item"}, []string{"net/http"}, "it asks as any program can, and judges what comes back"},
	{"cmd/...", join(engine, outside, []string{"cmd/...", "docs", "httpapi", "internal/checkup", "internal/document", "internal/eval", "internal/export", "internal/trial", "ui"}), nil, "the command wires everything together"},

	{"internal/conformance/...", join(engine, outside, support, []string{"internal/conformance/...", "internal/faults/..."}), nil, "it drives the whole program as its clients do"},
	{"internal/faults/...", join(engine, outside, support, []string{"internal/faults/..."}), nil, "it breaks any part on purpose"},
	{"internal/story", join(engine, outside, support, []string{"internal/jsonline"}), nil, "it tells whole runs, and how each dialect shows them"},
	{"internal/bench/...", join(engine, outside, support, []string{"internal/bench/..."}), nil, "it measures any part"},
	{"internal/eventdoc", join(nouns, support), nil, "it writes the page about events"},
	{"internal/licences", nil, nil, "it reads other people's licences"},
	{"internal/archtest", nil, nil, "it reads imports and has none"},
}

// Vendors says where modules of other people may be used. docs/dependencies.md says why we have them at all.
var Vendors = []Vendor{
	{"modernc.org/sqlite", []string{"internal/storage/sqlite", "tool/search"}, "databases are behind our own interfaces"},
	{"github.com/google/uuid", []string{".", "agent", "graph", "internal/bench", "internal/conformance/...", "internal/run", "internal/server/...", "internal/storage/..."}, "ids are made where threads, runs, checkpoints and turns are made"},

	{"golang.org/x/sys/unix", []string{"tool/sandbox", "tool/sandbox/internal/jail"}, "the kernel's own names are for those who build walls out of it"},
	{"golang.org/x/sync/semaphore", []string{"agent", "internal/run", "internal/server/admission"}, "calls wait for each other in their order, and give up with their context"},

	{"github.com/kaptinlin/jsonrepair", []string{"tool"}, "arguments are repaired once, before a tool sees them"},
	{"github.com/google/jsonschema-go", []string{"tool", "tool/*"}, "arguments are checked once, before a tool sees them"},

	{"github.com/modelcontextprotocol/go-sdk", []string{"internal/conformance/...", "internal/server/mcp", "tool/mcp"}, "MCP is spoken by its own packages only"},
	{"golang.org/x/oauth2", []string{"tool/mcp"}, "the MCP SDK's words for tokens"},
	{"github.com/JohannesKaufmann/html-to-markdown/v2", []string{"internal/document", "tool/web"}, "formats are read in one place"},
	{"golang.org/x/net/html", []string{"internal/document", "tool/web"}, "formats are read in one place"},
	{"golang.org/x/text", []string{"internal/document", "tool/search", "internal/pdftext"}, "encodings of files, and accents of words"},
	{"github.com/kljensen/snowball/english", []string{"tool/search"}, "words are looked up without their inflection"},
	{"codeberg.org/readeck/go-readability", []string{"tool/web"}, "articles are found in pages of the web alone"},

	{"codeberg.org/go-pdf/fpdf", []string{"internal/export"}, "reports become files in one place"},
	{"golang.org/x/image", []string{"internal/export"}, "fonts of pages"},
	{"github.com/yuin/goldmark", []string{"internal/export"}, "reports are Markdown; who makes pages of them is one package"},
	{"github.com/coder/websocket", []string{"internal/server/..."}, "connections belong to those who own the listener"},
	{"github.com/alecthomas/kong", []string{"cmd/tributary"}, "flags are read in cmd alone"},
	{"go.yaml.in/yaml/v3", []string{"cmd/tributary", "internal/custom", "internal/skill"}, "files of settings are read in cmd alone, but for agents and skills, which are written in formats that others know too"},
	{"golang.org/x/tools/txtar", []string{"internal/story", "tool/search"}, "stories are files of several sections"},
	{"pgregory.net/rapid", []string{"event/eventtest", "internal/transcript/transcripttest", "internal/storage/storagetest", "internal/conformance/...", "internal/faults/..."},
		"random values are for tests"},
}

func join(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
