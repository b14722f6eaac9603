// The module says of every example and lesson what the command says, byte by byte but for times; and what it says of requests
// that are none.
//   node tests/compare.mjs FENCEPOST [PATTERN]
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { Module } from "./module.mjs";

const [command, pattern = ""] = process.argv.slice(2);
const dist = new URL("../dist/", import.meta.url);
const catalogue = JSON.parse(readFileSync(new URL("examples.json", dist), "utf8"));
const module = await Module.load(new URL("fencepost.wasm", dist));
const timeless = (text) => text.replace(/"milliseconds":\{[^}]*\}/g, '"milliseconds":{}');

// Imports none, so that nothing can be asked of whoever has it.
const imports = WebAssembly.Module.imports(module.compiled);
if (imports.length > 0) { throw new Error(`the module imports ${JSON.stringify(imports)}`); }

// What the command says, in a folder of all the texts.
function natively(files) {
    const folder = mkdtempSync(join(tmpdir(), "fencepost-playground-"));
    try {
        for (const [name, text] of Object.entries(catalogue.texts)) {
            mkdirSync(dirname(join(folder, name)), { recursive: true });
            writeFileSync(join(folder, name), text);
        }
        const options = { cwd: folder, encoding: "utf8", maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "inherit"] };
        try {
            return execFileSync(resolve(command), ["check", "--format", "json", ...files], options);
        } catch (error) {
            // Some are violated, or rejected.
            if (error.status === null || error.status > 3) { throw error; }
            return error.stdout;
        }
    } finally {
        rmSync(folder, { recursive: true });
    }
}

const files = [...new Set(catalogue.groups.flatMap((group) => group.items.map((item) => item.file)))]
    .filter((file) => file.includes(pattern));
const started = performance.now();
const wanted = new Map(files.map((file) => [file, ""]));
for (const line of natively(files).split("\n").filter(Boolean)) {
    const { file } = JSON.parse(line);
    if (!wanted.has(file)) { throw new Error(`the command says something of ${file}`); }
    wanted.set(file, `${wanted.get(file)}${timeless(line)}\n`);
}
const native = performance.now() - started;
const wrong = [];
const times = [];
for (const file of files) {
    const others = Object.fromEntries((catalogue.uses[file] || []).map((name) => [name, catalogue.texts[name]]));
    const since = performance.now();
    const { json } = module.ask({ do: "check", name: file, text: catalogue.texts[file], files: others });
    times.push([performance.now() - since, file]);
    if (timeless(json) !== wanted.get(file)) { wrong.push(file); }
}
times.sort(([a], [b]) => b - a);
console.log(`${files.length - wrong.length} of ${files.length} as the command says; it took ${(native / 1000).toFixed(0)} s, the module `
    + `${((performance.now() - started - native) / 1000).toFixed(0)} s, ${(module.exports.memory.buffer.byteLength / 1e6).toFixed(0)} MB`);
console.log(`longest: ${times.slice(0, 3).map(([ms, file]) => `${file} ${Math.round(ms)} ms`).join(", ")}`);
if (wrong.length > 0) { throw new Error(`not as the command says: ${wrong.slice(0, 10).join(", ")}`); }

// Requests that are none are answered.
for (const bad of ["", "{", "[]", "null", '{"do":"check"}', '{"do":"dance","name":"x","text":""}', '{"do":"check","name":1,"text":2}']) {
    if (typeof module.ask(bad).error !== "string") { throw new Error(`no error: ${bad}`); }
}
// What nests deep does not end the stack.
const deep = module.ask({ do: "check", name: "deep.fence", text: `kernel k { let x = ${"(".repeat(20000)}1${")".repeat(20000)}; }` });
if (deep.verdict !== "rejected") { throw new Error(`deep nesting: ${deep.verdict}`); }
// A panic is a trap, and what it said can still be read; a new instance goes on.
try {
    module.exports.room(-1);
    throw new Error("there is room for everything");
} catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) { throw error; }
}
if (!module.panic().includes("capacity overflow")) { throw new Error(`the panic said: ${module.panic()}`); }
await module.renew();
const empty = module.ask({ do: "check", name: "empty.fence", text: "" });
if (empty.verdict !== "rejected") { throw new Error(`after a panic: ${empty.verdict}`); }
