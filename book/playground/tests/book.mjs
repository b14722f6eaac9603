// The built book in a real browser: what the search finds, and where a block's *run* leads.
//   mdbook build book && book/playground/build book/html/playground
//   CHROMIUM=/usr/bin/chromium node tests/book.mjs [FOLDER FOR SCREENSHOTS]
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
const html = fileURLToPath(new URL("../../html", import.meta.url));
// What people look up, without what stands in front of it, and the page that has to be among the first.
const SEARCHED = [
    ["syncthreads", "reference/cuda.html"], ["atomicAdd", "reference/cuda.html"], ["mbarrier", "tutorial/mbarriers.html"],
    ["grid_constant", "reference/cuda.html"], ["deadlock", "reference/codes/deadlock.html"],
];
const FIRST = 10;

const TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".json": "application/json",
    ".wasm": "application/wasm", ".svg": "image/svg+xml",
};
const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    try {
        const body = await readFile(join(html, path.endsWith("/") ? `${path}index.html` : path));
        response.writeHead(200, { "Content-Type": TYPES[extname(path)] || "application/octet-stream" }).end(body);
    } catch {
        response.writeHead(404).end();
    }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/`;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let n = 0;

function holds(what, condition, found) {
    n += 1;
    if (!condition) { throw new Error(`${what}: ${JSON.stringify(found).slice(0, 800)}`); }
}

async function opened(path, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    await page.goto(url + path);
    return page;
}

async function shot(page, name) {
    if (shots) { await page.screenshot({ path: join(shots, `${name}.png`) }); }
}

async function search() {
    for (const [word, wanted] of SEARCHED) {
        const page = await opened(`introduction.html?search=${word}`);
        const results = page.locator("#mdbook-searchresults a, #searchresults a");
        await results.first().waitFor();
        const found = await results.evaluateAll((links) => links.map((link) => link.getAttribute("href")));
        holds(`the search for ${word}`, found.slice(0, FIRST).some((href) => href.includes(wanted)), found);
        await shot(page, `search-${word}`);
        await page.context().close();
    }
}

// A block that is a whole kernel, run in the playground beside the book, comes to the verdict that the book gives it.
async function run(path) {
    const page = await opened(path);
    const links = page.locator("a.fp-run[href*='#']");
    await links.first().waitFor();
    const count = await links.count();
    holds("blocks with a link", count > 0, count);
    for (let number = 0; number < Math.min(count, 3); number += 1) {
        const link = links.nth(number);
        const verdict = (await link.locator("xpath=preceding-sibling::span[1]").textContent()).split(":")[0].trim();
        const kernel = await link.evaluate((link) => link.parentElement.nextElementSibling.querySelector("code").textContent);
        const [opening] = await Promise.all([page.context().waitForEvent("page"), link.click()]);
        await opening.locator("#status", { hasText: /^(proved|violated|vacuous|rejected|not |up to)/ }).waitFor({ timeout: 60_000 });
        const status = await opening.locator("#status").textContent();
        holds(`${path}, block ${number}`, status.startsWith(verdict), [verdict, status]);
        holds("the kernel", (await opening.locator("#text").inputValue()).trim() === kernel.trim(), kernel);
        await opening.close();
    }
    await shot(page, `run-${path.replaceAll(/\W+/g, "-")}`);
    await page.context().close();
}

// Nothing is wider than a telephone but what is scrolled by itself.
async function narrow(path) {
    const page = await opened(path, { viewport: { width: 390, height: 844 } });
    const widths = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    holds(`the width of ${path}`, widths[0] <= widths[1], widths);
    await shot(page, `narrow-${path.replaceAll(/\W+/g, "-")}`);
    await page.context().close();
}

try {
    await search();
    for (const path of ["tutorial/message-passing.html", "tutorial/barriers.html", "reference/language.html"]) { await run(path); }
    const narrowed = ["reference/cuda.html", "reference/instructions.html", "reference/codes/deadlock.html", "install.html"];
    for (const path of narrowed) { await narrow(path); }
    console.log(`the book in ${browser.version()}: ${n} things are as they should be`);
} finally {
    await browser.close();
    server.close();
}
