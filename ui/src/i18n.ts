// The page's words. English is the source; a language that lacks a word would not compile.
import { lang } from "./prefs";

const en = {
  newQuestion: "New question", search: "Search", threads: "Conversations", settings: "Settings", keys: "Keyboard",
  searchThreads: "Search conversations", noThreads: "Your questions will be listed here. They survive a restart.",
  nothingFound: "Nothing found.", waitingForYou: "Waiting for you", today: "Today", yesterday: "Yesterday", earlier: "Earlier",
  foldRail: "Fold the list", openRail: "Show the list", rename: "Rename", remove: "Delete", undo: "Undo", removed: "Deleted “{0}”.",
  more: "More", untitled: "Untitled", failed: "failed", working: "Working", queued: "Queued", done: "Done", stopped: "Stopped",
  heading: "What would you like to find out?",
  lead: "Ask, and read while the answer is written. Close the page whenever you like: the work goes on, and the text is here when you come back.",
  ask: "Ask a question…", askNext: "Ask next; it is sent when this answer is done", answerFirst: "Answer the question above, or ask something else",
  send: "Send", stop: "Stop", again: "Answer again", copy: "Copy", copied: "Copied", edit: "Edit the question", cancel: "Cancel", saveAndAsk: "Ask this instead",
  sendAgain: "Send again", notSent: "Not sent: {0}", sending: "Sending…", takeBack: "Take back",
  offlineTitle: "No model key is set, so the built-in offline model answers.",
  offlineText: "It is a small, exact program and no language model: it counts, calculates with two numbers, and quotes the documents on this machine. Nothing is sent anywhere. For free conversation, give the server a key and start it again:",
  otherModels: "Anthropic, Gemini, local models: see docs/models.md, or ask about it here.",
  ex1: "How do I use LangGraph's client with tributary?", ex1s: "Looks it up in the handbook, with citations",
  ex2: "Which models can be used, and how is a key given?", ex2s: "Quotes the passages that answer it",
  ex3: "Count to fifty", ex3s: "Needs neither a model nor documents",
  thought: "Thought", thinking: "Thinking", searched: "Searched", searching: "Searching",   passages: "{0} passages", passage: "1 passage", arguments: "Arguments", result: "Result", subAgent: "Sub-agent", steps: "{0} steps", step: "1 step",
  writing: "writing", running: "running", waits: "waits", incomplete: "incomplete", noResult: "No result yet.", outcomeUnknown: "Nothing came back.",
  stoppedNote: "You stopped this answer. What was written is kept.", expiredNote: "The time for this answer was up. What was written is kept.",
  failedNote: "The answer failed: {0}", retryNote: "The server stopped in the middle; this part was written again.", tryAgain: "Try again", noOutput: "The answer was empty.",
  tokens: "{0} tokens", source: "source", sourceOf: "Source {0} of {1}", sources: "Sources", allSources: "All sources", cited: "{0}×", notCited: "not cited",
  openAway: "Open the source", copyQuote: "Copy the quote", close: "Close", previous: "Previous", next: "Next", passageOf: "Passage",
  gone: "This source is not part of this conversation.", answer: "Answer", somethingElse: "Something else…", allow: "May it do this?", asks: "It asks you",
  youAnswered: "You answered", waitingSince: "Waiting since {0}", questionWaits: "A question waits for you",
  branch: "{0} / {1}", earlierBranch: "Earlier version", laterBranch: "Later version", showEarlier: "Show earlier questions",
  downLine: "No connection. The answer is being written without you.", nextTry: "Next try in {0} s.", tryNow: "Try now", backLine: "Back. Nothing was missed.",
  newText: "New text", toEnd: "To the end", answering: "Answering", complete: "Answer complete.", completeSources: "Answer complete, {0} sources.",
  commands: "Commands", palette: "Type a command, or part of a conversation", inspect: "Inspect", theme: "Theme", auto: "Automatic", light: "Light", dark: "Dark",
  language: "Language", motion: "Motion", motionOff: "Off", announceLabel: "Read aloud by screen readers", announceText: "Sentences", announceState: "State only", off: "Off",
  apiDocs: "HTTP interface", components: "Components", code: "code", keyNeeded: "This server wants a key", keyHint: "It was started with TRIBUTARY_API_KEY. The key stays in this tab.", key: "Key", use: "Use it",
  missingThread: "There is no such conversation. It may have been deleted.", loading: "Loading…", back: "Back", version: "version {0}",
  youAsked: "You asked", answerWord: "Answer", conversation: "Conversation", composer: "Question", emptyThread: "Nothing was asked here yet.",
  events: "Events", runTitle: "Run {0}", atEvent: "At event {0}", whatWasSeen: "What a reader saw", frame: "Frame", turnsLane: "Turns", toolsLane: "Tools", subLane: "Sub-agents", lifeLane: "Life",
  play: "Play", pause: "Pause", first: "First event", last: "Last event", inspectorHint: "← → one event, Shift ten, Space plays",
  kSend: "Send", kLine: "New line", kComposer: "To the question", kPalette: "Commands and conversations", kNew: "New question", kStop: "Stop (twice)", kClose: "Close what is open", kSource: "Previous or next source", kTurn: "Previous or next question", kInspect: "Inspect the run", kHelp: "This list",
    formula: "Formula", copyOutput: "Copy the output", output: "Output", exitCode: "exit code {0}", changeOf: "Change of {0}", moreLines: "… {0} more lines", openFile: "Open {0}",
  files: "Files", allFiles: "All files", noFiles: "No files yet. What an agent writes for you is listed here, and what you add to a question.", made: "Made for you", given: "Added by you",
  download: "Download", saveAnswer: "Save as Markdown", downloadFile: "Download {0}", downloadAll: "Download all", removeFile: "Remove {0}", addFiles: "Add files", dropHere: "Drop the files here", removeBad: "Remove the files that cannot be taken",
  tooLarge: "too large", tooMany: "too many files", tooMuch: "too much at once", preview: "Preview", sourceText: "Source", noPreview: "This kind of file is not shown here. Download it to look at it.",
  cutShort: "The first {0} of {1} are shown.", table: "Table", rows: "{0} rows", rowsOf: "The first {0} of {1} rows",
  assistant: "Assistant", model: "Model", thinkingWord: "Think", thinkingHint: "Let the model think before it answers", planHint: "Write down a plan first, and keep it while working",
  letItDecide: "Let it decide", approveOnce: "Allow once", approveThread: "Allow in this conversation", editArguments: "Change…", reject: "Refuse", approveEdited: "Allow as changed", whyNot: "Why not? It is told (may be empty)",
  canDo: "It can: {0}", notJSON: "This is no JSON object.", needed: "needed", edited: "Allowed, as changed",
  plan: "Plan", planning: "Planning…", planned: "Planned, {0} steps", stepPending: "to do", stepSkipped: "left out", planAccepted: "Plan accepted", planChanged: "Plan accepted with changes, {0} steps", stepTitle: "What to find out or do", stepAbout: "Details", stepN: "Step {0}", stepAboutN: "Details of step {0}",
  moveUp: "Move step {0} up", moveDown: "Move step {0} down", removeStep: "Remove step {0}", putBack: "Put back", addStep: "Add a step", asProposed: "As it was proposed", planWords: "Or say what should be different",
  anotherPlan: "Plan anew", acceptPlan: "Accept and start", acceptChanged: "Accept the changes and start", nothingRuns: "Nothing runs until you accept.",
  report: "Report", activity: "Activity", outline: "Outline", references: "References", openReport: "Read", closeReport: "Close the report",
  copyReport: "Copy the report", noReport: "No report was written.", reportLater: "The report will be here when it is written.",
  writingReport: "Being written · {0} characters", oneSource: "1 source", nSources: "{0} sources", placeOf: "Place {0} where source {1} is cited",
  citedHere: "Cited in this answer", dragStep: "Drag to move", commentStep: "Comment on step {0}", commentN: "Comment on step {0}",
  commentHint: "What should be kept in mind here", removeComment: "Remove the comment on step {0}", team: "Team", experts: "Experts",
  phases: "Phases", synthesis: "Synthesis", synthesisWaits: "The lead writes when the experts are done.", notBegun: "Not begun yet.",
  notNeeded: "Was not needed.", stopExpert: "Stop {0}", attemptN: "Attempt {0}", attemptVoid: "Attempt {0} was replaced. Nothing of it is used.",
  late: "too late", nAgents: "{0} sub-agents", nDone: "{0} done", nFailed: "{0} failed", research: "Research",
  researchHint: "Make a plan, search, and write a report with sources", teamHint: "Let several experts work on it side by side",
  exResearch: "How does a reader resume a stream after a crash?", exResearchS: "A research: a plan that you can change, and a report",
  exTeam: "How does crash recovery work?", exTeamS: "A team: three experts work side by side, a lead sums up", pin: "Pin", unpin: "Unpin",
  pinned: "Pinned", inTexts: "In the texts", searchingTexts: "Looking through the texts…", agents: "Agents",   models: "Models", documents: "Documents", usage: "Usage", library: "Library", notHere: "This server does not offer it.",
  nothingYet: "Nothing here yet.", loadFailed: "It could not be read: {0}", modelsLead: "What can answer here. A model without a key cannot be used.",
  agentsLead: "Assistants that can be asked, and agents of your own.",     documentsLead: "Search in the documents that agents quote from.",
  usageLead: "What was asked and what it took, newest first.", canThink: "thinks", canSee: "sees pictures", isDefault: "usual",
  noKey: "no key", builtIn: "built in", own: "own", create: "Create", name: "Name", description: "Description", soul: "What it is and how it works",
  newAgent: "New agent", askIt: "Ask it", askAbout: "What are you looking for?", missingWords: "No document has: {0}", day: "Day",
  questions: "Questions", inTokens: "Read", outTokens: "Written", byAssistant: "By assistant", byDay: "By day", total: "Total", cost: "Cost",
  sampleOf: "The newest {0} of {1} tasks are counted.", checkpoints: "Checkpoints", stateDiff: "State, {0} → {1}", noChange: "Nothing changed.",
  forkFrom: "Fork from here", forking: "Forking…", speed: "Speed", wire: "Wire", framesOf: "{0} frames", stepsAndCost: "Time and tokens by step",
  timeWord: "Time", nodeWord: "Node", asTable: "As a table", asLanes: "As lanes", journalFile: "Save the frames",
  allKinds: "All kinds", conversationWord: "To the conversation", "delete": "Delete",   filterKind: "Kind of events", lane: "Lane", fromEvent: "From", toEvent: "To", subs: "Sub-agents", subsHint: "Let the agent delegate parts of the work", removeAgent: "Ask the usual agent",
  tools: "Tools", toolsLead: "What agents can do here, and what a call may change. Each can be switched off in the configuration.", mcpServers: "MCP servers", noServers: "None are configured. Name them under mcp.servers in the configuration.", askServer: "Ask for its tools", serverAnswers: "{0} tools",
  riskReads: "reads", riskWrites: "writes", riskExecutes: "runs code", riskSpends: "costs money", riskLeaves: "goes out", change: "Change", save: "Save", installSkill: "Install a skill", installHint: "An archive (.skill or .zip) with a SKILL.md", diagram: "Diagram", notDrawn: "It cannot be drawn: {0}",
  skills: "Skills", memory: "Memory", skillsLead: "Instructions that an agent reads when it needs them.", memoryLead: "What agents keep for later conversations. You may remove any of it.", isOn: "on", turnOn: "Switch on", turnOff: "Switch off", rememberThis: "Something to remember", remember: "Remember", forget: "Forget", askExpert: "Say something to {0}", youSaid: "You said: {0}",
};

const zh: typeof en = {
  newQuestion: "新问题", search: "搜索", threads: "对话", settings: "设置", keys: "快捷键",
  searchThreads: "搜索对话", noThreads: "你的问题会列在这里，重启后仍在。",
  nothingFound: "没有找到。", waitingForYou: "等你答复", today: "今天", yesterday: "昨天", earlier: "更早",
  foldRail: "收起列表", openRail: "展开列表", rename: "重命名", remove: "删除", undo: "撤销", removed: "已删除“{0}”。",
  more: "更多", untitled: "无标题", failed: "失败", working: "进行中", queued: "排队中", done: "完成", stopped: "已停止",
  heading: "你想了解什么？",
  lead: "提问后可以边生成边阅读。随时可以关闭页面：工作会继续，回来时文字都在。",
  ask: "输入问题…", askNext: "继续提问；当前回答完成后发送", answerFirst: "请先答复上面的问题，或另外提问",
  send: "发送", stop: "停止", again: "重新回答", copy: "复制", copied: "已复制", edit: "修改问题", cancel: "取消", saveAndAsk: "改问这个",
  sendAgain: "重新发送", notSent: "未发送：{0}", sending: "发送中…", takeBack: "撤回",
  offlineTitle: "没有设置模型密钥，由内置的离线模型回答。",
  offlineText: "它是一个小而精确的程序，不是语言模型：会数数、计算两个数、引用本机文档。不会向外发送任何内容。要自由对话，请给服务器一个密钥并重新启动：",
  otherModels: "Anthropic、Gemini、本地模型：见 docs/models.md，也可以在这里提问。",
  ex1: "How do I use LangGraph's client with tributary?", ex1s: "在手册中查找，并给出引文",
  ex2: "Which models can be used, and how is a key given?", ex2s: "逐字引用相关段落",
  ex3: "数到五十", ex3s: "不需要模型，也不需要文档",
  thought: "思考", thinking: "思考中", searched: "已搜索", searching: "搜索中",   passages: "{0} 段", passage: "1 段", arguments: "参数", result: "结果", subAgent: "子代理", steps: "{0} 步", step: "1 步",
  writing: "生成中", running: "运行中", waits: "等待中", incomplete: "未完成", noResult: "还没有结果。", outcomeUnknown: "没有返回内容。",
  stoppedNote: "你已停止，已写内容会保留。", expiredNote: "时间已到，已写内容会保留。",
  failedNote: "回答失败：{0}", retryNote: "服务器中途停止，这一段已重新生成。", tryAgain: "重试", noOutput: "回答是空的。",
  tokens: "{0} 词元", source: "来源", sourceOf: "来源 {0} / {1}", sources: "来源", allSources: "所有来源", cited: "{0} 次", notCited: "未引用",
  openAway: "打开来源", copyQuote: "复制引文", close: "关闭", previous: "上一个", next: "下一个", passageOf: "段落",
  gone: "这个来源不在此对话中。", answer: "答复", somethingElse: "其他…", allow: "允许这样做吗？", asks: "它在问你",
  youAnswered: "你的答复", waitingSince: "{0}起等你答复", questionWaits: "有问题等你答复",
  branch: "{0} / {1}", earlierBranch: "上一版本", laterBranch: "下一版本", showEarlier: "显示更早的问题",
  downLine: "连接已断开，回答仍在继续生成。", nextTry: "{0} 秒后重试。", tryNow: "立即重试", backLine: "已恢复，没有遗漏。",
  newText: "新内容", toEnd: "到末尾", answering: "正在回答", complete: "回答完成。", completeSources: "回答完成，{0} 个来源。",
  commands: "命令", palette: "输入命令或对话的一部分", inspect: "检查", theme: "主题", auto: "自动", light: "浅色", dark: "深色",
  language: "语言", motion: "动画", motionOff: "关闭", announceLabel: "屏幕阅读器朗读", announceText: "句子", announceState: "仅状态", off: "关闭",
  apiDocs: "HTTP 接口", components: "组件", code: "代码", keyNeeded: "服务器需要密钥", keyHint: "它以 TRIBUTARY_API_KEY 启动。密钥只保留在此标签页。", key: "密钥", use: "使用",
  missingThread: "没有这个对话，可能已被删除。", loading: "加载中…", back: "返回", version: "版本 {0}",
  youAsked: "你的问题", answerWord: "回答", conversation: "对话", composer: "提问", emptyThread: "这里还没有提问。",
  events: "事件", runTitle: "运行 {0}", atEvent: "事件 {0}", whatWasSeen: "读者所见", frame: "帧", turnsLane: "轮次", toolsLane: "工具", subLane: "子代理", lifeLane: "状态",
  play: "播放", pause: "暂停", first: "第一个事件", last: "最后一个事件", inspectorHint: "← → 一个事件，Shift 十个，空格播放",
  kSend: "发送", kLine: "换行", kComposer: "跳到输入框", kPalette: "命令与对话", kNew: "新问题", kStop: "停止（两次）", kClose: "关闭已打开的面板", kSource: "上一个或下一个来源", kTurn: "上一个或下一个问题", kInspect: "检查这次运行", kHelp: "此列表",
    formula: "公式", copyOutput: "复制输出", output: "输出", exitCode: "退出码 {0}", changeOf: "{0} 的修改", moreLines: "…… 还有 {0} 行", openFile: "打开 {0}",
  files: "文件", allFiles: "所有文件", noFiles: "还没有文件。代理为你生成的文件和你添加的文件会列在这里。", made: "为你生成", given: "由你添加",
  download: "下载", saveAnswer: "保存为 Markdown", downloadFile: "下载 {0}", downloadAll: "全部下载", removeFile: "移除 {0}", addFiles: "添加文件", dropHere: "把文件放在这里", removeBad: "请移除无法接收的文件",
  tooLarge: "太大", tooMany: "文件太多", tooMuch: "总量太大", preview: "预览", sourceText: "源文本", noPreview: "这类文件无法在此显示，请下载查看。",
  cutShort: "仅显示前 {0}，共 {1}。", table: "表格", rows: "{0} 行", rowsOf: "前 {0} 行，共 {1} 行",
  assistant: "助手", model: "模型", thinkingWord: "思考", thinkingHint: "让模型先思考再回答", planHint: "先写下计划，并在工作时更新",
  letItDecide: "由它决定", approveOnce: "允许这一次", approveThread: "在此对话中允许", editArguments: "修改…", reject: "拒绝", approveEdited: "按修改后的允许", whyNot: "为什么不？会告诉它（可留空）",
  canDo: "它能：{0}", notJSON: "这不是 JSON 对象。", needed: "必填", edited: "修改后允许",
  plan: "计划", planning: "正在计划…", planned: "已计划，{0} 步", stepPending: "待办", stepSkipped: "已略过", planAccepted: "已确认计划", planChanged: "已修改并确认计划，{0} 步", stepTitle: "要了解或要做的事", stepAbout: "细节", stepN: "第 {0} 步", stepAboutN: "第 {0} 步的细节",
  moveUp: "上移第 {0} 步", moveDown: "下移第 {0} 步", removeStep: "删除第 {0} 步", putBack: "恢复", addStep: "添加一步", asProposed: "恢复原计划", planWords: "或者说明要改什么",
  anotherPlan: "重新计划", acceptPlan: "确认并开始", acceptChanged: "确认修改并开始", nothingRuns: "你确认之前不会开始。",
  report: "报告", activity: "过程", outline: "大纲", references: "参考资料", openReport: "阅读", closeReport: "关闭报告", copyReport: "复制报告", noReport: "没有写出报告。",
  reportLater: "报告写出后会显示在这里。", writingReport: "正在撰写 · {0} 字", oneSource: "1 个来源", nSources: "{0} 个来源", placeOf: "来源 {1} 的第 {0} 处引用",
  citedHere: "在此回答中的引用", dragStep: "拖动以移动", commentStep: "评论第 {0} 步", commentN: "对第 {0} 步的评论", commentHint: "这一步要注意什么", removeComment: "删除第 {0} 步的评论",
  team: "团队", experts: "专家", phases: "阶段", synthesis: "综合", synthesisWaits: "专家完成后由负责人撰写。", notBegun: "尚未开始。", notNeeded: "没有参与。",
  stopExpert: "停止 {0}", attemptN: "第 {0} 次尝试", attemptVoid: "第 {0} 次尝试已作废，内容未被采用。", late: "超时", nAgents: "{0} 个子代理", nDone: "{0} 个完成",
  nFailed: "{0} 个失败", research: "研究", researchHint: "先做计划，再搜索，写出带来源的报告", teamHint: "让几位专家同时研究",
  exResearch: "How does a reader resume a stream after a crash?", exResearchS: "一次研究：可以修改的计划，和一份报告", exTeam: "How does crash recovery work?",
  exTeamS: "一个团队：三位专家并行，一位负责人总结", pin: "置顶", unpin: "取消置顶", pinned: "已置顶", inTexts: "正文中", searchingTexts: "正在查找正文……", agents: "代理",   models: "模型", documents: "文档", usage: "用量", library: "资料库", notHere: "此服务器没有提供。", nothingYet: "这里还没有内容。",
  loadFailed: "无法读取：{0}", modelsLead: "这里可以使用的模型。没有密钥的模型无法使用。", agentsLead: "可以提问的助手，以及你自己的代理。",   documentsLead: "在代理引用的文档中搜索。", usageLead: "提过的问题和用量，最新的在前。",   canThink: "会思考", canSee: "能看图", isDefault: "默认", noKey: "没有密钥", builtIn: "内置", own: "自建", create: "创建", name: "名称", description: "描述",
  soul: "它是什么，如何工作", newAgent: "新代理", askIt: "向它提问", askAbout: "你在找什么？", missingWords: "没有文档包含：{0}", day: "日期", questions: "问题",
  inTokens: "读入", outTokens: "写出", byAssistant: "按助手", byDay: "按天", total: "合计", cost: "费用", sampleOf: "仅统计最新 {0} 个任务，共 {1} 个。", checkpoints: "检查点",
  stateDiff: "状态，{0} → {1}", noChange: "没有变化。", forkFrom: "从这里分叉", forking: "正在分叉……", speed: "速度", wire: "协议", framesOf: "{0} 帧",
  stepsAndCost: "各步的时间与词元", timeWord: "时间", nodeWord: "节点", asTable: "以表格显示", asLanes: "以泳道显示", journalFile: "保存帧", allKinds: "所有种类",
  conversationWord: "回到对话", "delete": "删除", filterKind: "事件种类", lane: "泳道", fromEvent: "从",
  toEvent: "到", subs: "子代理", subsHint: "让代理把部分工作交给子代理", removeAgent: "改用默认代理",
  tools: "工具", toolsLead: "代理在这里能做什么，以及调用可能改变什么。都可以在配置中关闭。", mcpServers: "MCP 服务器", noServers: "没有配置。请在配置的 mcp.servers 中添加。", askServer: "查看它的工具", serverAnswers: "{0} 个工具",
  riskReads: "读取", riskWrites: "写入", riskExecutes: "运行代码", riskSpends: "花费", riskLeaves: "向外发送", change: "修改", save: "保存", installSkill: "安装技能", installHint: "含有 SKILL.md 的压缩包（.skill 或 .zip）", diagram: "图", notDrawn: "无法绘制：{0}",
  skills: "技能", memory: "记忆", skillsLead: "代理需要时阅读的说明。", memoryLead: "代理为以后的对话保留的内容。你可以删除任何一条。", isOn: "开启", turnOn: "开启", turnOff: "关闭", rememberThis: "要记住的事", remember: "记住", forget: "忘记", askExpert: "对 {0} 说", youSaid: "你说了：{0}",
};

export type Word = keyof typeof en;

/** The word in the chosen language, with what stands in place of {0}, {1} …. */
export function t(word: Word, ...args: (string | number)[]): string {
  const text = (lang.value === "zh" ? zh : en)[word];
  return args.length === 0 ? text : text.replace(/\{(\d)\}/g, (_, i: string) => String(args[Number(i)] ?? ""));
}

/** A length of time, as people say it. */
export function span(ms: number): string {
  const s = ms / 1000;
  if (s < 0.1) return "< 0.1 s";
  if (s < 10) return s.toFixed(1) + " s";
  if (s < 60) return Math.round(s) + " s";
  return Math.floor(s / 60) + ":" + String(Math.floor(s % 60)).padStart(2, "0");
}

/** When something was, in few letters. */
export function when(at: number, now = Date.now()): string {
  const d = new Date(at), today = new Date(now);
  const locale = lang.value === "zh" ? "zh-CN" : undefined;
  if (d.toDateString() === today.toDateString()) return d.toLocaleTimeString(locale, { hour: "2-digit", minute: "2-digit", hour12: false });
  if (now - at < 6 * 86_400_000) return d.toLocaleDateString(locale, { weekday: "short" });
  return d.toLocaleDateString(locale, { day: "numeric", month: "short" });
}

/** Money, told in millionths of a dollar. */
export function money(micros: number): string { return "$" + (micros / 1e6).toFixed(micros < 10_000 ? 4 : micros < 1_000_000 ? 3 : 2); }

export function number(n: number): string { return n.toLocaleString(lang.value === "zh" ? "zh-CN" : "en"); }
