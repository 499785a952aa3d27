import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/turn.css";
import "./styles/work.css";
import "./styles/markdown.css";
import "./styles/pages.css";
import { render } from "preact";
import { App } from "./app";
import { learnChoices } from "./store/choices";
import { learnFiles } from "./store/files";
import { learn } from "./store/server";
import { watch } from "./store/threads";

render(<App />, document.getElementById("app")!);
void learn();
void learnChoices();
void learnFiles();
watch();
