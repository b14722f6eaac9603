// The page in a real browser: what a reader does, with the mouse and without, wide and narrow, light and dark; and what is bad for
// it.
//   CHROMIUM=/usr/bin/chromium node tests/browser.mjs [FOLDER FOR SCREENSHOTS]
import { existsSync, mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const shots = process.argv[2];
if (shots) { mkdirSync(shots, { recursive: true }); }
const executablePath = process.env.CHROMIUM
    || ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));
const dist = fileURLToPath(new URL("../dist", import.meta.url));

const TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".json": "application/json",
    ".wasm": "application/wasm",
};
const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    try {
        const body = await readFile(join(dist, path === "/" ? "index.html" : path));
        response.writeHead(200, { "Content-Type": TYPES[extname(path)] || "text/html" }).end(body);
    } catch {
        response.writeHead(404).end();
    }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/`;

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let complaints = [];
let n = 0;

function is(what, found, wanted) {
    n += 1;
    const fits = wanted instanceof RegExp ? wanted.test(found) : found === wanted;
    if (!fits) { throw new Error(`${what}: ${JSON.stringify(found).slice(0, 600)} is not ${wanted}`); }
}

async function opened(options = {}, address = url, prepare = async () => {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => { if (message.type() === "error") { complaints.push(message.text()); } });
    await prepare(page);
    await page.goto(address);
    return page;
}

const status = (page) => page.locator("#status").textContent();

// What the page says once it says something like it.
async function says(page, pattern, timeout = 30_000) {
    const found = page.locator("#status", { hasText: pattern });
    await found.waitFor({ timeout }).catch(async () => { throw new Error(`the page says "${await status(page)}", not ${pattern}`); });
    n += 1;
}

async function shot(page, name) {
    if (shots) { await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true }); }
}

// Nothing is wider than the page.
async function fits(page) {
    const [width, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    is("the width of the page", width <= inner, true);
}

async function type(page, text) {
    await page.evaluate((text) => { editor.text = text; }, text);
}

async function mouse(options, name) {
    const page = await opened(options);
    await says(page, /^Ready/);
    await page.locator("#group").selectOption({ label: "Message passing" });
    await page.locator("#item").selectOption({ index: 3 });
    await says(page, /^(proved|violated)/);
    await page.locator("#group").selectOption({ label: "Message passing: from a race to a proof" });
    await page.locator("#item").selectOption({ index: 1 });
    await says(page, /^violated, [0-9]+ findings/);
    await fits(page);
    await shot(page, `${name}-report`);
    await page.locator("#tab-picture").click();
    const frame = page.frameLocator("#picture iframe");
    await frame.locator("svg.execution .step").first().click();
    is("a step of the picture", await frame.locator(".told h4").first().textContent(), /^step [0-9]+/);
    await fits(page);
    await shot(page, `${name}-picture`);
    await page.locator("#tab-steps").click();
    await page.locator("#start").click();
    await page.locator("#where", { hasText: "Step 0" }).waitFor();
    await page.locator("#next").click();
    await page.locator("#where", { hasText: "Step 1" }).waitFor();
    await page.locator(".agent button").first().click();
    await page.locator("#where", { hasText: "Step 2" }).waitFor();
    await page.locator("#back").click();
    await page.locator("#where", { hasText: "Step 1" }).waitFor();
    await page.locator("#end").click();
    await page.locator("#outcome", { hasText: "run:" }).waitFor();
    await page.locator("#drawn img").waitFor();
    is("a picture of the run", await page.locator("#drawn img").evaluate((image) => image.decode().then(() => image.naturalWidth > 100)), true);
    await fits(page);
    await shot(page, `${name}-steps`);
    await page.locator("#tab-report").click();
    const before = await page.locator("#text").inputValue();
    await page.locator(".apply").first().click();
    await says(page, /^proved/);
    is("the report", await page.locator("#said").textContent(), /: proved\s/);
    is("the mended text", await page.locator("#text").inputValue(), /st\.release/);
    await shot(page, `${name}-proved`);
    // It was typed, so it can be taken back; then nothing is said of it any more.
    await page.locator("#text").focus();
    await page.keyboard.press("Control+z");
    is("undone", await page.locator("#text").inputValue(), before);
    is("the result is of another text", await page.locator("body").getAttribute("class"), /stale/);
    await page.context().close();
}

async function keyboard() {
    const page = await opened({ colorScheme: "dark" });
    await says(page, /^Ready/);
    const at = () => page.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.tagName);
    const until = async (wanted, key = "Tab", most = 30) => {
        for (let presses = 0; await at() !== wanted; presses += 1) {
            if (presses > most) { throw new Error(`${key} does not lead to ${wanted}, but to ${await at()}`); }
            await page.keyboard.press(key);
        }
        n += 1;
    };
    await until("group");
    await until("check");
    await page.keyboard.press("Enter");
    await says(page, /^violated/);
    await until("text");
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Tab");
    is("Tab indents", (await page.locator("#text").inputValue()).startsWith("    "), true);
    await page.keyboard.press("Control+z");
    await page.keyboard.press("Control+Enter");
    await says(page, /^violated/);
    await page.keyboard.press("Escape");
    await until("apply");
    await page.keyboard.press("Enter");
    await says(page, /^proved/);
    await page.keyboard.press("Escape");
    await until("tab-report");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    is("the third tab", await at(), "tab-steps");
    await until("start");
    await page.keyboard.press("Enter");
    await page.locator("#where", { hasText: "Step 0" }).waitFor();
    await until("end");
    await page.keyboard.press("Enter");
    await page.locator("#outcome", { hasText: "run:" }).waitFor();
    is("where the keyboard is at the end", await at(), "start");
    await shot(page, "keyboard");
    await page.context().close();
}

async function links() {
    const text = "// \u{1f600} \u4f60\u597d\nkernel k { global x: u32 = 0; launch { ctas: 2 }  st [x], ctaid; }\n";
    const page = await opened();
    await says(page, /^Ready/);
    await type(page, text);
    await page.locator("#check").click();
    await says(page, /^violated/);
    is("a place behind such characters leads to its line", await page.locator("#numbers .marked").first().textContent(), "2\n");
    await page.locator("#share").click();
    await says(page, /^The link is/);
    const address = page.url();
    is("the address", address, /#z=[A-Za-z0-9_-]+$/);
    const other = await opened({}, address);
    await says(other, /^violated/);
    is("the kernel of a link", await other.locator("#text").inputValue(), text);
    await other.context().close();
    const plain = await opened({}, `${url}#u=${Buffer.from(text).toString("base64url")}`);
    await says(plain, /^violated/);
    await plain.context().close();
    for (const bad of ["#z=AAAA", "#u=!!!", "#example=none.fence", "#z=", "#example=%E0%A4%A"]) {
        const damaged = await opened({}, `${url}${bad}`);
        await says(damaged, /^The link cannot be read/);
        await damaged.locator("#check").click();
        await says(damaged, /^rejected/);
        await damaged.context().close();
    }
    const example = await opened({}, `${url}#example=examples/ptx/spin_lock.fence`);
    await says(example, /^proved/);
    is("what it imports is there", (await example.locator("#said").textContent()).includes("proved"), true);
    await example.context().close();
    await page.context().close();
}

// Fifteen places that anything can be read from, and nobody who waits: no solver is fast with it.
const ENDLESS = `kernel endless {
    launch { ctas: 64 }
    global x[64]: u32 = 0;
    var i = 0;
    while i < 64 {
        let v = atom.add.relaxed.gpu [x[(i * 7 + ctaid) % 64]], ctaid + 1;
        let w = atom.exch.relaxed.gpu [x[v % 64]], v + i;
        i = i + w % 2 + 1;
    }
}
`;

async function bad() {
    const page = await opened();
    await says(page, /^Ready/);
    await type(page, "// a line of ten megabytes\n".repeat(400_000));
    await page.locator("#check").click();
    await says(page, /^This text has 10\.8 MB/);
    await page.locator("#share").click();
    await says(page, /too long for a link/);
    await type(page, ENDLESS);
    await page.locator("#check").click();
    await says(page, /^Checking for [0-9]+ s… Stop ends it/);
    await shot(page, "checking");
    await page.locator("#stop").click();
    await says(page, /^Stopped/);
    await type(page, "kernel k { global x: u32 = 0; st [x], 1; }");
    await page.locator("#check").click();
    await says(page, /^proved/);
    // Another check takes the place of one that runs.
    await type(page, ENDLESS);
    await page.locator("#check").click();
    await says(page, /^Checking/);
    await type(page, "kernel k { global x: u32 = 0; st [x], 1; }");
    await page.locator("#check").click();
    await says(page, /^proved/);
    await type(page, "kernel k { st [y], 1; }");
    await page.locator("#check").click();
    await says(page, /^rejected/);
    await shot(page, "rejected");
    await page.locator("#tab-steps").click();
    await page.locator("#start").click();
    await page.locator("#outcome", { hasText: "y" }).waitFor();
    await page.locator("#layout").click();
    is("the layout", await page.locator("#text").inputValue(), /^kernel k \{\n {4}st \[y\], 1;\n\}\n$/);
    await page.context().close();
}

// The worker's own code, but for a text that makes a module trap as a bug of the checker would.
async function traps() {
    const page = await opened({}, url, (page) => page.route("**/worker.js", async (route) => {
        const body = await readFile(join(dist, "worker.js"), "utf8");
        const trap = "new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,"
            + "7,5,1,1,116,0,0,10,5,1,3,0,0,11]))).exports.t()";
        await route.fulfill({
            contentType: "text/javascript",
            body: body.replace("const input =", `if (request.text.includes("TRAP")) { ${trap}; }\n    const input =`),
        });
    }));
    await says(page, /^Ready/);
    await type(page, "// TRAP\n");
    await page.locator("#check").click();
    await says(page, /^The checker broke off: .*unreachable/);
    await shot(page, "trap");
    await type(page, "kernel k { global x: u32 = 0; st [x], 1; }");
    await page.locator("#check").click();
    await says(page, /^proved/);
    await page.context().close();
}

async function withoutFiles() {
    const page = await opened({}, url, (page) => page.route("**/fencepost.wasm", (route) => route.fulfill({ status: 404, body: "" })));
    await says(page, /^The checker cannot be loaded/);
    await page.unroute("**/fencepost.wasm");
    await page.locator("#check").click();
    await says(page, /^(violated|rejected)/);
    await page.context().close();
    const none = await opened({}, url, (page) => page.route("**/examples.json", (route) => route.fulfill({ status: 404, body: "" })));
    await says(none, /^(Ready|The examples)/);
    await type(none, "kernel k { global x: u32 = 0; st [x], 1; }");
    await none.locator("#check").click();
    await says(none, /^proved/);
    await none.context().close();
    // The browser says that a file was not there.
    complaints = complaints.filter((text) => !text.includes("404"));
}

try {
    await mouse({}, "wide-light");
    await mouse({ colorScheme: "dark" }, "wide-dark");
    await mouse({ viewport: { width: 390, height: 844 } }, "narrow-light");
    await mouse({ viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true }, "narrow-dark");
    await keyboard();
    await links();
    await bad();
    await traps();
    await withoutFiles();
    if (complaints.length > 0) { throw new Error(`the browser complains:\n${complaints.join("\n")}`); }
    console.log(`the page in ${browser.version()}: ${n} things are as they should be`);
} catch (error) {
    // What the page looked like, for whoever reads it.
    for (const page of browser.contexts().flatMap((context) => context.pages())) {
        const seen = await page.locator("#status, #outcome, #where").allTextContents().catch(() => []);
        console.error(`at the end: ${JSON.stringify(seen)}`);
        await shot(page, "failed").catch(() => {});
    }
    throw error;
} finally {
    await browser.close();
    server.close();
}
