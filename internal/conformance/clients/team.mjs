// A client of the team wire, with the package ws: it reads a team to its end over many connections, cuts each in the middle of
// something, and goes on after the last frame that it has. It says what it read, a line a frame.
//   node team.mjs WS_URL [COMMAND]
// COMMAND, if there is one, is sent on each connection until it is answered; the answer goes to standard error. It has an id, so that
// what was heard of it before a cut is not heard twice.
import WebSocket from "ws";

const [url, command] = process.argv.slice(2);
const frames = [];
let cuts = 0;
let answered = false;

// read takes at most n frames from one connection; true if the server has said that there are no more.
function read(n) {
  return new Promise((resolve, reject) => {
    const at = frames.length === 0 ? url : `${url}?after=${JSON.parse(frames.at(-1)).sequence}`;
    const socket = new WebSocket(at, { perMessageDeflate: false });
    let left = n;
    let cut = false;
    socket.on("open", () => { if (command && !answered) socket.send(command); });
    socket.on("message", (data) => {
      if (cut) return; // what was under way when we cut is lost to us
      const line = data.toString();
      const { type } = JSON.parse(line);
      if (type === "accepted" || type === "refused") { answered = true; return process.stderr.write(line + "\n"); }
      frames.push(line);
      if (--left === 0) { cut = true; cuts++; socket.terminate(); }
    });
    socket.on("close", (code) => {
      if (cut) resolve(false);
      else if (code === 1000) resolve(true);
      else reject(new Error(`the server closed with ${code}`));
    });
    socket.on("error", (err) => { if (!cut) reject(err); });
  });
}

for (let n = 1; !(await read(n)); n = (n * 7) % 23 + 1);
if (cuts < 5) throw new Error(`only ${cuts} cuts`);
process.stdout.write(frames.join("\n") + "\n");
