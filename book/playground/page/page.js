// The page: what is chosen, typed and pressed, and what is shown of the answers.
"use strict";

// More is no kernel. What the checker says of files that are too large it says, too, but a page should not be slow to.
const BYTES_MAX = 1 << 20;
// Checks that take longer are counted aloud.
const PATIENCE_MS = 300;
const NAME = "kernel.fence";
const FIRST = "examples/message-passing/cta-scope.fence";

const id = (name) => document.getElementById(name);
const editor = new Editor();
const checker = new Checker();
const steps = new Steps(stepped);
let catalogue = { groups: [], texts: {}, uses: {}, codes: [] };
// What is in the editor: how reports call it, and which other texts it can use.
let current = { name: NAME, files: {} };
// Of which text the result is that is shown.
let shown = null;
let clock = 0;

function say(text, look = "") {
    id("status").textContent = text;
    id("status").className = look;
}

function bytes(text) { return new TextEncoder().encode(text).length; }

function seconds(since) {
    const taken = performance.now() - since;
    return taken < 1000 ? `${Math.round(taken)} ms` : `${(taken / 1000).toFixed(1)} s`;
}

// How many columns a report has room for.
function columns() {
    const probe = span("probe", "0".repeat(100));
    id("said").append(probe);
    const width = probe.getBoundingClientRect().width / 100;
    probe.remove();
    const room = id("results").clientWidth - 24;
    return Math.max(36, Math.min(100, Math.floor(room / width)));
}

// Sends a request about the text in the editor; nothing is given back where there was no answer, and the page has said why.
async function asked(request) {
    const text = editor.text;
    if (bytes(text) > BYTES_MAX) {
        say(`This text has ${(bytes(text) / 1e6).toFixed(1)} MB, and the playground takes 1 MB: use the command for it.`, "bad");
        return null;
    }
    const since = performance.now();
    busy(true, since);
    try {
        const answer = await checker.ask({ name: current.name, files: current.files, text, width: columns(), ...request });
        return { answer, text, taken: seconds(since) };
    } catch (error) {
        if (error instanceof Stopped) {
            say("Stopped. Nothing is known of this text; it is as it was.", "open");
        } else if (error instanceof Trapped) {
            say(`The checker broke off: ${error.message.slice(0, 2000)}. That is a bug of Fencepost, or it ran out of memory; `
                + "there is no verdict. Your text is as it was, and the next check starts anew.", "bad");
        } else {
            say(`The checker cannot be loaded: ${error.message}. Press Check to try again.`, "bad");
        }
        return null;
    } finally {
        if (!checker.busy) { busy(false); }
    }
}

function busy(is, since) {
    clearInterval(clock);
    id("stop").hidden = !is;
    document.body.classList.toggle("busy", is);
    if (is) {
        let told = false;
        clock = setInterval(() => {
            if (performance.now() - since < PATIENCE_MS) { return; }
            // Said once; who listens is not told every second.
            id("status").setAttribute("aria-live", told ? "off" : "polite");
            told = true;
            say(`Checking for ${Math.max(1, Math.round((performance.now() - since) / 1000))} s… Stop ends it.`, "open");
        }, PATIENCE_MS);
    } else {
        id("status").setAttribute("aria-live", "polite");
    }
}

async function check() {
    const done = await asked({ do: "check" });
    if (!done) { return; }
    const { answer, text, taken } = done;
    if (answer.error !== undefined) {
        say(answer.error, "bad");
        return;
    }
    const lines = answer.json.trim().split("\n").map((line) => JSON.parse(line));
    shown = text;
    document.body.classList.remove("stale");
    id("said").replaceChildren(told(answer.text.trimEnd(), current.name, (line, column) => editor.go(line, column)));
    id("lines").textContent = lines.map((line) => JSON.stringify(line, null, 1)).join("\n");
    picture(answer.picture);
    headline(answer, lines, taken);
    fixes(lines);
    launches(lines);
    const findings = lines.flatMap((line) => line.findings || []);
    const errors = lines.flatMap((line) => line.errors || []);
    const places = [...findings.flatMap((finding) => [finding.primary, ...finding.secondary]), ...errors];
    editor.mark(places.filter((place) => place && place.file === current.name).map((place) => place.line));
    address();
}

function headline(answer, lines, taken) {
    const n = lines.flatMap((line) => line.findings || []).length;
    const verdict = answer.verdict.replace(/_/g, " ");
    const findings = n === 0 ? "" : `, ${n} ${n === 1 ? "finding" : "findings"}`;
    const look = answer.passes ? "good" : ["violated", "rejected"].includes(answer.verdict) ? "bad" : "open";
    say(`${verdict}${findings} (${taken})`, look);
}

// A page of its own, which gets at nothing of this one.
function picture(html) {
    const panel = id("picture");
    panel.querySelector("iframe")?.remove();
    id("no-picture").hidden = html !== null;
    if (html === null) { return; }
    const frame = document.createElement("iframe");
    frame.title = "The execution, drawn";
    frame.setAttribute("sandbox", "allow-scripts");
    frame.srcdoc = html;
    panel.append(frame);
}

// Changes that were checked, and that are of this text alone.
function fixes(lines) {
    const found = lines.flatMap((line) => line.findings || []);
    const own = found.filter(({ repair }) => repair && repair.edits.length > 0
        && [...repair.edits, ...repair.others || []].every((edit) => edit.file === current.name));
    const seen = new Set();
    const fresh = own.filter(({ repair }) => {
        const key = JSON.stringify(repair.edits);
        return !seen.has(key) && seen.add(key);
    });
    id("fixes").replaceChildren(...fresh.map((finding) => {
        const row = document.createElement("div");
        row.className = "fix";
        const button = document.createElement("button");
        button.type = "button";
        button.className = "apply";
        button.textContent = "Apply the fix";
        button.addEventListener("click", () => apply([...finding.repair.edits, ...finding.repair.others || []]));
        const what = span("", finding.help || finding.message);
        row.append(button, what);
        return row;
    }));
}

function apply(edits) {
    // Places are of the text that was checked.
    if (editor.text !== shown) { return; }
    let text = shown;
    const places = edits.map((edit) => ({
        from: offset(shown, edit.line, edit.column),
        to: offset(shown, edit.end_line, edit.end_column),
        text: edit.text,
    }));
    // From the last to the first, so that none moves another.
    places.sort((a, b) => b.from - a.from || b.to - a.to);
    for (const place of places) { text = text.slice(0, place.from) + place.text + text.slice(place.to); }
    editor.text = text;
    check();
}

// Which launches there are to go through.
function launches(lines) {
    const known = lines.filter((line) => line.kernel !== undefined && line.launch !== undefined);
    const before = id("launch").value;
    id("launch").replaceChildren(...known.map((line) => {
        const option = document.createElement("option");
        option.value = `${line.kernel}\n${line.launch}`;
        option.textContent = line.launch === "default" ? line.kernel : `${line.kernel}: ${line.launch}`;
        return option;
    }));
    if (known.some((line) => `${line.kernel}\n${line.launch}` === before)) { id("launch").value = before; }
}

async function stepped(request) {
    const done = await asked(request);
    if (done) { say(`${done.answer.error === undefined ? "one execution" : "no execution"} (${done.taken})`); }
    return done?.answer;
}

async function layout() {
    const done = await asked({ do: "layout" });
    if (!done) { return; }
    if (done.answer.error !== undefined) {
        id("said").replaceChildren(told(done.answer.error, current.name, (line, column) => editor.go(line, column)));
        say("Left as it is: it does not parse.", "bad");
        tab("report");
    } else if (done.answer.text === done.text) {
        say("It is in that layout.");
    } else {
        editor.text = done.answer.text;
        say("In the layout of fencepost fmt; undo takes it back.");
    }
}

// The kernel in the address, unless it is one that has a shorter name.
async function address() {
    const text = editor.text;
    let part = "";
    if (catalogue.texts[current.name] === text) {
        part = `example=${current.name}`;
    } else if (bytes(text) <= 64 << 10) {
        part = await window.fenceLink.pack(text);
    }
    if (editor.text === text) { history.replaceState(null, "", part ? `#${part}` : location.pathname + location.search); }
    return part;
}

async function share() {
    if (!await address()) {
        say("This text is too long for a link: 64 kB fit.", "bad");
        return;
    }
    try {
        await navigator.clipboard.writeText(location.href);
        say("The link is copied: it has the kernel in it.");
    } catch {
        say("The link is in the address bar: it has the kernel in it.");
    }
}

function open(name, text, files = {}) {
    current = { name, files };
    checker.stop();
    steps.clear();
    id("launch").replaceChildren(new Option("the first", ""));
    id("fixes").replaceChildren();
    editor.load(text);
}

// What an example or a lesson can name.
function example(file) {
    const files = {};
    for (const other of catalogue.uses[file] || []) { files[other] = catalogue.texts[other]; }
    open(file, catalogue.texts[file], files);
}

function fill() {
    const kinds = [...new Set(catalogue.groups.map((group) => group.kind))];
    id("group").replaceChildren(new Option("choose…", ""), ...kinds.map((kind) => {
        const part = document.createElement("optgroup");
        part.label = kind;
        catalogue.groups.forEach((group, number) => {
            if (group.kind === kind) { part.append(new Option(group.title, String(number))); }
        });
        return part;
    }));
}

function items() {
    const group = catalogue.groups[Number(id("group").value)];
    const list = id("group").value === "" ? [] : group.items;
    id("item").replaceChildren(new Option("choose…", ""), ...list.map((item) => new Option(`${item.title} (${item.expect})`, item.file)));
}

// Shows which of the lists a file is in.
function select(file) {
    const number = catalogue.groups.findIndex((group) => group.items.some((item) => item.file === file));
    if (number < 0) { return; }
    id("group").value = String(number);
    items();
    id("item").value = file;
}

async function fromAddress() {
    const part = location.hash.slice(1);
    if (part.startsWith("example=")) {
        const file = decodeURIComponent(part.slice("example=".length));
        if (!(file in catalogue.texts)) { throw new Error(`there is no example ${file}`); }
        select(file);
        example(file);
        return true;
    }
    if (!/^[zu]=/.test(part)) { return false; }
    open(NAME, await window.fenceLink.unpack(part));
    return true;
}

function tab(name) {
    for (const button of document.querySelectorAll("[role=tab]")) {
        const isIt = button.id === `tab-${name}`;
        button.setAttribute("aria-selected", String(isIt));
        button.tabIndex = isIt ? 0 : -1;
        id(button.getAttribute("aria-controls")).hidden = !isIt;
    }
}

function tabs() {
    const all = [...document.querySelectorAll("[role=tab]")];
    const choose = (button) => tab(button.id.slice("tab-".length));
    all.forEach((button, number) => {
        button.addEventListener("click", () => choose(button));
        button.addEventListener("keydown", (event) => {
            const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (!by) { return; }
            event.preventDefault();
            const next = all[(number + by + all.length) % all.length];
            choose(next);
            next.focus();
        });
    });
}

editor.onchange = () => {
    // What is shown is of another text.
    document.body.classList.toggle("stale", shown !== null && editor.text !== shown);
    id("fixes").querySelectorAll("button").forEach((button) => { button.disabled = editor.text !== shown; });
    steps.clear();
};
id("check").addEventListener("click", check);
id("stop").addEventListener("click", () => { checker.stop(); id("check").focus(); });
id("layout").addEventListener("click", layout);
id("share").addEventListener("click", share);
id("group").addEventListener("change", items);
id("item").addEventListener("change", () => {
    if (id("item").value === "") { return; }
    example(id("item").value);
    check();
});
id("launch").addEventListener("change", () => steps.clear());
document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        check();
    }
});
window.addEventListener("hashchange", begin);
tabs();

async function begin() {
    try {
        if (await fromAddress()) {
            await check();
            return;
        }
    } catch (error) {
        say(`The link cannot be read: ${error.message}. Nothing was opened.`, "bad");
        return;
    }
    if (editor.text === "" && FIRST in catalogue.texts) {
        select(FIRST);
        example(FIRST);
    }
    say("Ready: press Check, or Ctrl+Enter.");
}

(async () => {
    const loaded = checker.start().catch((error) => error);
    try {
        const answer = await fetch("examples.json");
        if (!answer.ok) { throw new Error(`${answer.status} ${answer.statusText}`); }
        catalogue = await answer.json();
        fill();
    } catch (error) {
        say(`The examples cannot be loaded: ${error.message}`, "bad");
    }
    const error = await loaded;
    if (error) {
        say(`The checker cannot be loaded: ${error.message}. Press Check to try again.`, "bad");
        return;
    }
    await begin();
})();
