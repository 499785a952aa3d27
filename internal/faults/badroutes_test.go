package faults_test

// kind is what a member of a request must be. Its wrong values are in badcorpus_test.go.
type kind string

const (
	aString kind = "string"
	aWord   kind = "word" // one of a few
	anID    kind = "id"
	aBool   kind = "bool"
	anInt   kind = "int" // not negative
	aNumber kind = "number"
	anObj   kind = "object"
	strs    kind = "strings"
	words   kind = "words" // a string or a list of strings
	aTime   kind = "time"
	list    kind = "list"
	aTTL    kind = "ttl"     // minutes, or an object
	version kind = "version" // any whole number
)

// badRoute says what can be said wrongly to a route.
type badRoute struct {
	// good is the least that the route accepts, where it reads a body. Names in angle brackets are replaced by what the
	// test has made.
	good string
	// fields are the members of the body.
	fields map[string]kind
	// query are parameters with wrong values, each with the name that the answer must have.
	query []string
	// filters are members in which a client may name anything: whatever is in them is looked for and not found.
	filters []string
	// forgiving says that the last part of the path may be anything.
	forgiving bool
	// answers says that a mistake in params is told in an answer of the protocol, with status 200.
	answers bool
	// socket says that the route wants a WebSocket.
	socket bool
	// waits says that what is asked for need not exist yet.
	waits bool
	// noBody says that a body is not read.
	noBody bool
}

var (
	runFields = map[string]kind{
		"assistant_id": aString, "command": anObj, "checkpoint": anObj, "checkpoint_id": aString, "config": anObj, "context": anObj,
		"metadata": anObj, "webhook": aString, "interrupt_before": words, "interrupt_after": words, "stream_mode": words,
		"stream_subgraphs": aBool, "stream_resumable": aBool, "on_disconnect": aWord, "multitask_strategy": aWord, "if_not_exists": aWord,
		"on_completion": aWord, "after_seconds": aNumber, "feedback_keys": strs, "checkpoint_during": aBool, "durability": aWord,
	}
	agentFields = map[string]kind{
		"description": aString, "model": aString, "model_settings": anObj, "thinking_enabled": aBool, "reasoning_effort": aWord, "tool_groups": strs, "skills": strs, "soul": aString,
	}
	cronFields = with(map[string]kind{
		"schedule": aString, "timezone": aString, "end_time": aTime, "enabled": aBool, "on_run_completed": aWord,
	}, runFields, "checkpoint", "checkpoint_id", "command", "if_not_exists", "after_seconds", "on_completion", "stream_resumable", "on_disconnect", "feedback_keys", "checkpoint_during", "durability", "stream_mode", "stream_subgraphs")
	paging      = map[string]kind{"limit": anInt, "offset": anInt}
	run         = `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"{\"key\":\"bad\",\"words\":1}"}]}}`
	knowledge   = `{"content":"---\nname: know\ndescription: Knows.\n---\nKnow."}`
	cron        = `{"assistant_id":"agent","schedule":"0 0 1 1 *","input":{}}`
	badCursor   = []string{"?stream_mode=nonsense stream_mode"}
	badCancel   = []string{"?wait=maybe wait", "?action=explode action"}
	badListing  = []string{"?limit=x limit", "?limit=-1 limit", "?limit=99999999999999999999 limit", "?offset=-1 offset", "?offset=1.5 offset"}
	badAgent    = []string{"?agent_name=a%2Fb agent_name", "?agent_name=a_b agent_name", "?agent_name=%00 agent_name"}
	factFields  = map[string]kind{"content": aString, "category": aString, "confidence": aNumber, "topics": strs}
	badSubgraph = []string{"?recurse=perhaps recurse"}
)

// with adds members of another table, but for those that are named.
func with(fields, more map[string]kind, but ...string) map[string]kind {
	all := map[string]kind{}
	for name, k := range more {
		all[name] = k
	}
	for _, name := range but {
		delete(all, name)
	}
	for name, k := range fields {
		all[name] = k
	}
	return all
}

// badRoutes are all routes of the server. One that is missing fails the test.
var badRoutes = map[string]badRoute{
	"POST /assistants": {good: `{"graph_id":"agent"}`, fields: map[string]kind{
		"assistant_id": anID, "graph_id": aString, "config": anObj, "context": anObj, "metadata": anObj, "if_exists": aWord, "name": aString, "description": aString,
	}},
	"POST /assistants/search": {good: `{}`, filters: []string{"metadata"}, fields: with(map[string]kind{
		"metadata": anObj, "graph_id": aString, "name": aString, "sort_by": aWord, "sort_order": aWord, "select": strs,
	}, paging)},
	"POST /assistants/count":                               {good: `{}`, filters: []string{"metadata"}, fields: map[string]kind{"metadata": anObj, "graph_id": aString, "name": aString}},
	"GET /assistants/{assistant_id}":                       {},
	"PATCH /assistants/{assistant_id}":                     {good: `{"name":"x"}`, fields: map[string]kind{"graph_id": aString, "config": anObj, "context": anObj, "metadata": anObj, "name": aString, "description": aString}},
	"DELETE /assistants/{assistant_id}":                    {query: []string{"?delete_threads=perhaps delete_threads"}},
	"GET /assistants/{assistant_id}/graph":                 {query: []string{"?xray=-1 xray", "?xray=deep xray"}},
	"GET /assistants/{assistant_id}/schemas":               {},
	"GET /assistants/{assistant_id}/subgraphs":             {query: badSubgraph},
	"GET /assistants/{assistant_id}/subgraphs/{namespace}": {query: badSubgraph, forgiving: true},
	"POST /assistants/{assistant_id}/versions":             {good: `{}`, filters: []string{"metadata"}, fields: with(map[string]kind{"metadata": anObj}, paging)},
	"POST /assistants/{assistant_id}/latest":               {good: `{"version":1}`, fields: map[string]kind{"version": version}},

	"GET /agents":                 {},
	"POST /agents":                {good: `{"name":"other"}`, fields: with(map[string]kind{"name": aString}, agentFields)},
	"GET /agents/check":           {query: []string{" name", "?name= name", "?name=user-x name", "?name=project-x name", "?name=a%2Fb name", "?name=..%2Fx name", "?name=%00 name", "?name=agent name"}},
	"GET /agents/{agent_name}":    {},
	"PUT /agents/{agent_name}":    {good: `{"soul":"x"}`, fields: agentFields},
	"DELETE /agents/{agent_name}": {},

	"GET /memory":                               {query: badAgent},
	"PATCH /memory":                             {good: `{"topOfMind":"boats"}`, query: badAgent, fields: map[string]kind{"workContext": aString, "personalContext": aString, "topOfMind": aString, "recentMonths": aString, "earlierContext": aString, "longTermBackground": aString}},
	"DELETE /memory":                            {query: append([]string{"?thread_id=%00 thread_id"}, badAgent...)},
	"POST /memory/facts":                        {good: `{"content":"likes tea"}`, query: badAgent, fields: factFields},
	"GET /memory/facts/{fact_id}":               {query: badAgent},
	"PATCH /memory/facts/{fact_id}":             {good: `{"category":"context"}`, query: badAgent, fields: factFields},
	"DELETE /memory/facts/{fact_id}":            {query: badAgent},
	"GET /memory/search":                        {query: append([]string{"?limit=0 limit", "?limit=x limit", "?limit=99999 limit"}, badAgent...)},
	"GET /memory/export":                        {query: badAgent},
	"POST /memory/import":                       {good: `{"facts":[{"content":"likes tea"}]}`, query: badAgent, fields: map[string]kind{"facts": list, "user": anObj, "history": anObj}},
	"GET /memory/config":                        {query: badAgent},
	"GET /memory/status":                        {query: badAgent},
	"PUT /memory/status":                        {good: `{"enabled":true}`, query: badAgent, fields: map[string]kind{"enabled": aBool}},
	"GET /skills":                               {},
	"GET /skills/{skill_name}":                  {},
	"PUT /skills/{skill_name}":                  {good: `{"enabled":true}`, fields: map[string]kind{"enabled": aBool}},
	"POST /skills/install":                      {good: `{"thread_id":"<nobody>","path":"/mnt/user-data/outputs/x.skill"}`, fields: map[string]kind{"thread_id": anID, "replace": aBool}},
	"GET /skills/custom":                        {},
	"GET /skills/custom/{skill_name}":           {},
	"PUT /skills/custom/{skill_name}":           {good: knowledge, fields: map[string]kind{"content": aString}},
	"DELETE /skills/custom/{skill_name}":        {},
	"GET /skills/custom/{skill_name}/history":   {},
	"POST /skills/custom/{skill_name}/rollback": {good: `{}`, fields: map[string]kind{"version": version, "history_index": version}},

	"POST /threads": {good: `{}`, fields: map[string]kind{"thread_id": anID, "metadata": anObj, "if_exists": aWord, "supersteps": list, "ttl": aTTL}},
	"POST /threads/search": {good: `{}`, filters: []string{"metadata", "values"}, fields: with(map[string]kind{
		"metadata": anObj, "values": anObj, "ids": strs, "status": aWord, "sort_by": aWord, "sort_order": aWord, "select": strs, "extract": anObj,
	}, paging)},
	"GET /threads/search-text":                       {query: []string{" q", "?q= q", "?q=%20 q", "?q=%ff q", "?q=a&limit=x limit", "?q=a&limit=0 limit", "?q=a&limit=101 limit"}},
	"POST /threads/count":                            {good: `{}`, filters: []string{"metadata", "values"}, fields: map[string]kind{"metadata": anObj, "values": anObj, "status": aWord}},
	"POST /threads/prune":                            {good: `{"thread_ids":["<nobody>"]}`, fields: map[string]kind{"thread_ids": strs, "strategy": aWord}},
	"GET /threads/{thread_id}":                       {},
	"PATCH /threads/{thread_id}":                     {good: `{"metadata":{}}`, fields: map[string]kind{"metadata": anObj, "ttl": aTTL}},
	"DELETE /threads/{thread_id}":                    {},
	"POST /threads/{thread_id}/copy":                 {noBody: true},
	"GET /threads/{thread_id}/state":                 {query: []string{"?subgraphs=perhaps subgraphs"}},
	"GET /threads/{thread_id}/state/{checkpoint_id}": {query: []string{"?subgraphs=perhaps subgraphs"}},
	"POST /threads/{thread_id}/state/checkpoint":     {good: `{"checkpoint":{"checkpoint_id":"<nobody>"}}`, fields: map[string]kind{"checkpoint": anObj, "subgraphs": aBool}},
	"POST /threads/{thread_id}/state":                {good: `{"values":{}}`, fields: map[string]kind{"as_node": aString, "checkpoint": anObj, "checkpoint_id": aString}},
	"PATCH /threads/{thread_id}/state":               {good: `{"metadata":{}}`, fields: map[string]kind{"metadata": anObj}},
	"GET /threads/{thread_id}/history":               {query: []string{"?limit=x limit", "?limit=-1 limit", "?before=%00 before"}},
	"POST /threads/{thread_id}/history":              {good: `{}`, filters: []string{"metadata"}, fields: map[string]kind{"limit": anInt, "metadata": anObj, "checkpoint": anObj}},
	"GET /threads/{thread_id}/stream":                {query: []string{"?stream_modes=nonsense stream_mode"}},

	"POST /threads/{thread_id}/runs":                 {good: run, fields: runFields},
	"POST /threads/{thread_id}/runs/stream":          {good: run, fields: runFields},
	"POST /threads/{thread_id}/runs/wait":            {good: run, fields: runFields},
	"GET /threads/{thread_id}/runs":                  {query: append([]string{"?status=done status", "?select=everything select"}, badListing...)},
	"GET /threads/{thread_id}/runs/{run_id}":         {},
	"DELETE /threads/{thread_id}/runs/{run_id}":      {},
	"GET /threads/{thread_id}/runs/{run_id}/join":    {query: []string{"?cancel_on_disconnect=perhaps cancel_on_disconnect"}},
	"GET /threads/{thread_id}/runs/{run_id}/stream":  {query: append([]string{"?cancel_on_disconnect=perhaps cancel_on_disconnect"}, badCursor...)},
	"POST /threads/{thread_id}/runs/{run_id}/cancel": {query: badCancel, noBody: true},

	"POST /runs":                 {good: run, fields: with(nil, runFields, "checkpoint", "checkpoint_id", "if_not_exists")},
	"POST /runs/stream":          {good: run, fields: with(nil, runFields, "checkpoint", "checkpoint_id", "if_not_exists")},
	"POST /runs/wait":            {good: run, fields: with(nil, runFields, "checkpoint", "checkpoint_id", "if_not_exists")},
	"POST /runs/batch":           {good: `[` + run + `]`},
	"POST /runs/cancel":          {good: `{"status":"pending"}`, query: []string{"?action=explode action"}, fields: map[string]kind{"thread_id": anID, "run_ids": strs, "status": aWord}},
	"GET /runs/{run_id}":         {},
	"GET /runs/{run_id}/join":    {query: []string{"?cancel_on_disconnect=perhaps cancel_on_disconnect"}},
	"GET /runs/{run_id}/stream":  {query: append([]string{"?cancel_on_disconnect=perhaps cancel_on_disconnect"}, badCursor...)},
	"POST /runs/{run_id}/cancel": {query: badCancel, noBody: true},

	"POST /runs/crons":                     {good: cron, fields: cronFields},
	"POST /threads/{thread_id}/runs/crons": {good: cron, fields: cronFields},
	"POST /runs/crons/search":              {good: `{}`, fields: with(map[string]kind{"assistant_id": aString, "thread_id": anID, "enabled": aBool, "sort_by": aWord, "sort_order": aWord, "select": strs}, paging)},
	"POST /runs/crons/count":               {good: `{}`, fields: map[string]kind{"assistant_id": aString, "thread_id": anID}},
	"PATCH /runs/crons/{cron_id}":          {good: `{"enabled":true}`, fields: map[string]kind{"schedule": aString, "timezone": aString, "end_time": aTime, "enabled": aBool, "on_run_completed": aWord}},
	"DELETE /runs/crons/{cron_id}":         {},

	"PUT /store/items": {good: `{"namespace":["a"],"key":"k","value":{}}`, fields: map[string]kind{"namespace": strs, "key": aString, "value": anObj, "ttl": aNumber}},
	"GET /models":      {},

	"GET /tools":                           {},
	"GET /mcp/servers":                     {},
	"GET /mcp/servers/{server_name}/tools": {},

	"GET /usage":                                         {query: []string{"?since=x since", "?until=tomorrow until", "?since=2026-13-01T00:00:00Z since"}},
	"GET /threads/{thread_id}/token-usage":               {},
	"GET /suggestions/config":                            {},
	"POST /threads/{thread_id}/suggestions":              {good: `{}`, fields: map[string]kind{"messages": list, "n": anInt, "model_name": aString}},
	"POST /input-polish":                                 {good: `{"text":"a"}`, fields: map[string]kind{"text": aString, "locale": aString, "thread_id": aString}},
	"GET /threads/{thread_id}/goal":                      {},
	"PUT /threads/{thread_id}/goal":                      {good: `{"objective":"a"}`, fields: map[string]kind{"objective": aString}},
	"DELETE /threads/{thread_id}/goal":                   {},
	"GET /threads/{thread_id}/runs/{run_id}/feedback":    {},
	"PUT /threads/{thread_id}/runs/{run_id}/feedback":    {good: `{"rating":1}`, fields: map[string]kind{"rating": version, "comment": aString}},
	"DELETE /threads/{thread_id}/runs/{run_id}/feedback": {},

	"GET /documents/search":    {query: []string{" q", "?q= q", "?q=%20 q", "?q=a&limit=x limit", "?q=a&limit=0 limit", "?q=a&limit=21 limit", "?q=%ff q"}},
	"GET /store/items":         {query: []string{" namespace", "?namespace=a key", "?key=k namespace", "?namespace=a&key=k&refresh_ttl=perhaps refresh_ttl", "?namespace=&key=k namespace", "?namespace=a&key= key"}},
	"DELETE /store/items":      {good: `{"namespace":["no"],"key":"such"}`, fields: map[string]kind{"namespace": strs, "key": aString}},
	"POST /store/items/search": {good: `{}`, filters: []string{"filter"}, fields: with(map[string]kind{"namespace_prefix": strs, "filter": anObj, "query": aString, "refresh_ttl": aBool}, paging)},
	"POST /store/namespaces":   {good: `{}`, fields: with(map[string]kind{"prefix": strs, "suffix": strs, "max_depth": anInt}, paging)},

	"POST /threads/{thread_id}/commands":      {good: `{"id":1,"method":"state.get","params":{}}`, answers: true, fields: map[string]kind{"id": anInt, "method": aString, "params": anObj}},
	"POST /threads/{thread_id}/stream/events": {good: `{"channels":["values"]}`, waits: true, fields: map[string]kind{"channels": strs, "namespaces": list, "depth": anInt, "since": anInt}},
	"GET /threads/{thread_id}/stream/events":  {socket: true},

	"POST /mcp":   {good: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, fields: map[string]kind{"jsonrpc": aString, "method": aString, "params": anObj}},
	"GET /mcp":    {},
	"DELETE /mcp": {},

	"POST /tasks": {good: `{"input":"{\"key\":\"bad\",\"words\":1}"}`, fields: map[string]kind{
		"assistant": aString, "model": aString, "previous_task_id": anID, "thread_id": anID, "multitask_strategy": aWord, "metadata": anObj, "configurable": anObj,
		"context": anObj, "timeout_seconds": aNumber, "stream": aBool, "on_disconnect": aWord,
	}},
	"GET /tasks":                      {query: append([]string{"?status=done status", "?order=up order", "?metadata=7 metadata", "?metadata=%7B metadata", "?nonsense=1 nonsense", "?a=%zz query"}, badListing...)},
	"GET /tasks/{id}":                 {query: []string{"?include=x include", "?include=content,x include"}},
	"DELETE /tasks/{id}":              {},
	"GET /tasks/{id}/events":          {query: []string{"?include=x include", "?after=x after", "?after=-2 after", "?after=1.5 after", "?after=99999999999999999999 after", "?after=100000 after"}},
	"GET /tasks/{id}/ws":              {query: []string{"?include=content include", "?after=x after", "?after=100000 after"}, socket: true},
	"POST /tasks/{id}/cancel":         {good: `{}`, fields: map[string]kind{"action": aWord, "wait": aBool}},
	"GET /tasks/{id}/model-view":      {},
	"GET /tasks/{id}/references":      {},
	"GET /tasks/{id}/requests/{turn}": {},
	"POST /teams": {good: `{"question":"x","experts":[{"name":"ada"}]}`, fields: map[string]kind{
		"question": aString, "assistant": aString, "model": aString, "thread_id": anID, "metadata": anObj, "stream": aBool, "mode": aWord, "rounds": anInt, "experts": list,
		"invent": aBool, "lead_plans": aBool, "replan": aBool, "review": aBool, "plan": list, "judge": anObj, "budget": anObj,
	}},
	"POST /teams/{run}/commands": {good: `{"type":"cancel"}`, fields: map[string]kind{"type": aWord, "expert": aString, "text": aString, "message_id": aString, "phase": aString, "interrupt_id": aString}},
	"GET /teams/{run}/events":    {query: []string{"?after=x after", "?after=-2 after", "?after=1.5 after", "?after=99999999999999999999 after", "?after=100000 after"}},
	"GET /teams/{run}/ws":        {query: []string{"?after=x after", "?after=100000 after"}, socket: true},
	"POST /tasks/{id}/input":     {good: `{"interrupt_id":"x","value":1}`, fields: map[string]kind{"interrupt_id": aString, "answers": anObj, "metadata": anObj, "stream": aBool}},
	"POST /api/chat/stream": {good: `{"messages":[{"role":"user","content":"{\"key\":\"bad\",\"words\":1}"}]}`, fields: map[string]kind{
		"thread_id": anID, "resources": list, "locale": aString, "max_plan_iterations": anInt, "max_step_num": anInt, "max_search_results": anInt, "auto_accepted_plan": aBool,
		"interrupt_feedback": aString, "mcp_settings": anObj, "enable_background_investigation": aBool, "enable_web_search": aBool, "report_style": aWord,
		"enable_deep_thinking": aBool, "enable_clarification": aBool, "max_clarification_rounds": anInt, "interrupt_before_tools": strs, "messages": list,
	}},
	"GET /api/config":               {},
	"GET /api/rag/config":           {},
	"GET /api/rag/resources":        {query: []string{"?query=%ff query"}},
	"POST /api/report/evaluate":     {good: `{"content":"# A"}`, fields: map[string]kind{"content": aString, "query": aString, "report_style": aString, "use_llm": aBool}},
	"POST /api/prompt/enhance":      {good: `{"prompt":"a"}`, fields: map[string]kind{"prompt": aString, "context": aString, "report_style": aString}},
	"POST /api/prose/generate":      {good: `{"prompt":"a"}`, fields: map[string]kind{"prompt": aString, "option": aWord, "command": aString}},
	"POST /api/tts":                 {good: `{"text":"a"}`, fields: map[string]kind{"text": aString}},
	"POST /api/podcast/generate":    {good: `{"content":"a"}`, fields: map[string]kind{"content": aString}},
	"POST /api/ppt/generate":        {good: `{"content":"a"}`, fields: map[string]kind{"content": aString}},
	"POST /api/mcp/server/metadata": {good: `{"url":"x"}`, fields: map[string]kind{"transport": aString, "url": aString, "headers": anObj, "timeout_seconds": anInt}},
	"GET /api/chat/stream":          {query: []string{" thread_id", "?thread_id=%20 thread_id", "?thread_id=no-such thread_id", "?thread_id=a&after=x after", "?thread_id=a&after=x:1 after"}},
}
