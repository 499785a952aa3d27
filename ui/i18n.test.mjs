// Every word is there in every language, with the same places for what is put in.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const source = readFileSync(new URL("./src/i18n.ts", import.meta.url), "utf8");

function words(name) {
  const body = new RegExp(`const ${name}(?:: typeof en)? = (\\{[\\s\\S]*?\\n\\});`).exec(source);
  assert.ok(body, `there is no list ${name}`);
  return new Function(`return ${body[1]}`)();
}

test("English and Chinese have the same words, none of them empty", () => {
  const en = words("en"), zh = words("zh");
  assert.deepEqual(Object.keys(zh).sort(), Object.keys(en).sort());
  assert.ok(Object.keys(en).length > 200, "the list is short; was it read?");
  for (const key of Object.keys(en)) {
    const places = (text) => [...text.matchAll(/\{(\d)\}/g)].map((m) => m[1]).sort();
    assert.notEqual(en[key], "", key);
    assert.notEqual(zh[key], "", key);
    assert.deepEqual(places(zh[key]), places(en[key]), key);
  }
});

test("no word is listed twice", () => {
  for (const name of ["en", "zh"]) {
    const body = new RegExp(`const ${name}(?:: typeof en)? = (\\{[\\s\\S]*?\\n\\});`).exec(source)[1];
    const keys = [...body.matchAll(/(?:^|[,{]\s*)"?([A-Za-z]\w*)"?: "/gm)].map((m) => m[1]);
    const double = keys.filter((k, i) => keys.indexOf(k) !== i);
    assert.deepEqual(double, []);
  }
});

test("no word is said that is used nowhere", async () => {
  const { readdirSync } = await import("node:fs");
  const here = new URL("./src/", import.meta.url);
  let all = "";
  for (const f of readdirSync(here, { recursive: true })) if (/\.tsx?$/.test(f) && !f.endsWith("i18n.ts")) all += readFileSync(new URL(f, here), "utf8");
  const composed = new Set(["agentsLead", "modelsLead", "documentsLead", "usageLead", "skillsLead", "memoryLead", "toolsLead"]);
  const unused = Object.keys(words("en")).filter((k) => !composed.has(k) && !new RegExp(`"${k}"`).test(all));
  assert.deepEqual(unused, []);
});
