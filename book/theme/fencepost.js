// Colours for kernels, memory models and reports, and links from rule ids to what they say.
// The pages are complete without any of it.
(function () {
    "use strict";

    // What a scope of the grammar is to highlight.js.
    const CLASSES = [
        ["comment", "comment"], ["string", "string"], ["keyword.operator.word", "title"], ["storage", "keyword"],
        ["keyword", "keyword"], ["variable.language", "built_in"], ["support.type", "type"],
        ["constant.language", "literal"], ["constant.numeric", "number"],
    ];

    // The grammar of editors (`fence.js`, which is generated), rule by rule.
    function fence() {
        const contains = [];
        for (const rule of window.fenceGrammar.patterns) {
            const known = CLASSES.find(function (entry) { return rule.name.startsWith(entry[0]); });
            if (!known) { continue; }
            contains.push(rule.begin
                ? { className: known[1], begin: new RegExp(rule.begin), end: new RegExp(rule.end) }
                : { className: known[1], begin: new RegExp(rule.match) });
        }
        return { name: "fence", contains: contains };
    }

    function cat(hljs) {
        return {
            name: "cat",
            lexemes: /[A-Za-z_][A-Za-z0-9_-]*/,
            keywords: {
                keyword: "let rec and as in include acyclic irreflexive empty flag show if else",
                built_in: "id int ext loc po rf co fr rmw addr data ctrl domain range",
            },
            contains: [
                hljs.COMMENT(/\(\*/, /\*\)/),
                hljs.QUOTE_STRING_MODE,
                { className: "number", begin: /\b[0-9]+\b/ },
                { className: "type", begin: /\[[A-Za-z| &\\-]+\]/ },
            ],
        };
    }

    // Reports: what is typed, headlines, the words that begin a paragraph, quoted code.
    function console_(hljs) {
        return {
            name: "console",
            contains: [
                { className: "keyword", begin: /^\$ .*$/ },
                { className: "deletion", begin: /^ {2}[×│] (?=\S).*$/ },
                { className: "title", begin: /^[a-z]+::[a-z-]+$/ },
                { className: "strong", begin: /^ {2}(?:why|rule|help|also|more|with|note|rests on):/ },
                { className: "comment", begin: /^ *[·╭╰├│─┬ ]+[─┬╰┴].*$/, contains: [{ className: "string", begin: /\((?:1|2)\)/ }] },
                { className: "string", begin: /`[^`\n]*`/ },
            ],
        };
    }

    function mark(verdict) {
        if (verdict === "proved") { return "fp-good"; }
        return verdict.startsWith("violated") || verdict.startsWith("rejected") ? "fp-bad" : "fp-open";
    }

    // The line of a verdict may break, and its verdict is marked. Works on lines, as the colours above never span two.
    function verdicts(block) {
        block.innerHTML = block.innerHTML.split("\n").map(function (line) {
            const found = line.match(/^([^<]*?\): )(proved up to bound [0-9]+|proved|violated|vacuous|inconclusive)(   .*)$/);
            // What is drawn in columns stays as it is; other lines may break where the page is narrow.
            if (!found) {
                return /^(?:<[^>]*>)* *(?:[0-9]+ )?[│·╭╰─]/.test(line) || line === "" ? line : '<span class="fp-line">' + line + "</span>";
            }
            return '<span class="fp-verdict">' + found[1] + '<span class="' + mark(found[2]) + '">' + found[2] + "</span>"
                + found[3] + "</span>";
        }).join("\n");
    }

    // What the info string of a kernel says of it: its file and its verdict.
    function label(block) {
        const words = {};
        block.classList.forEach(function (name) {
            const at = name.indexOf("=");
            if (at > 0) { words[name.slice(0, at)] = name.slice(at + 1); }
        });
        if (!words.expect) { return; }
        const line = document.createElement("div");
        line.className = "fp-label";
        const file = document.createElement("span");
        file.textContent = words.example ? "examples/" + words.example : words.file || "";
        const verdict = document.createElement("span");
        const text = words.expect.replace(/_/g, " ").replace(":", ": ");
        verdict.textContent = text;
        verdict.className = mark(text);
        line.append(file, verdict);
        const link = run(block.textContent);
        if (link) { line.append(link); }
        const pre = block.closest("pre");
        if (pre && pre.parentNode) { pre.parentNode.insertBefore(line, pre); }
    }

    // Leads to the playground with the kernel in it. The book may be opened without that: from a folder, or as a draft.
    function run(text) {
        if (!window.fenceLink || !location.protocol.startsWith("http")) { return null; }
        const link = document.createElement("a");
        link.className = "fp-run";
        link.textContent = "run";
        link.title = "Check this kernel in the playground";
        link.target = "_blank";
        link.rel = "noopener";
        const page = (typeof path_to_root === "string" ? path_to_root : "") + "playground/index.html";
        link.href = page;
        window.fenceLink.pack(text).then(function (part) { link.href = page + "#" + part; });
        return link;
    }

    // Ids of rules lead to the page that has their sentences.
    function rules() {
        const root = typeof path_to_root === "string" ? path_to_root : "";
        const main = document.querySelector("main");
        if (!main || /reference\/rules\.html$/.test(location.pathname)) { return; }
        const id = /\b(?:(?:MM|AX|FN|BR|MB|AS|LT|SPA|A)-[0-9]+|UB-[A-Z][0-9]+|SPA-R[0-9]+)\b/g;
        const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
        const nodes = [];
        while (walker.nextNode()) {
            const node = walker.currentNode;
            if (!node.parentElement.closest("pre, code, a, h1, h2, h3, h4, h5") && node.data.search(id) >= 0) {
                nodes.push(node);
            }
        }
        nodes.forEach(function (node) {
            const parts = document.createDocumentFragment();
            let from = 0;
            for (const found of node.data.matchAll(id)) {
                parts.append(node.data.slice(from, found.index));
                const link = document.createElement("a");
                link.className = "fp-rule";
                link.href = root + "reference/rules.html#" + found[0];
                link.textContent = found[0];
                parts.append(link);
                from = found.index + found[0].length;
            }
            parts.append(node.data.slice(from));
            node.replaceWith(parts);
        });
    }

    // Opcodes in tables may break behind a modifier, and not within one.
    function breaks() {
        document.querySelectorAll("main td code").forEach(function (code) {
            const parts = code.textContent.split(/(?<=\w(?:::|[.(,_]))(?=[A-Za-z0-9])/);
            if (parts.length > 1 && code.children.length === 0) {
                code.replaceChildren(...parts.flatMap(function (part, index) {
                    return index === 0 ? [part] : [document.createElement("wbr"), part];
                }));
            }
        });
    }

    // Rows that begin with a long name are read one by one where the page is narrow: each cell says which column it is of.
    function rows() {
        document.querySelectorAll("main table").forEach(function (table) {
            const heads = Array.from(table.querySelectorAll("thead th"), function (head) { return head.textContent.trim(); });
            const firsts = Array.from(table.querySelectorAll("tbody td:first-child"));
            const isLong = firsts.some(function (cell) { return cell.querySelector("code") && cell.textContent.length > 24; });
            if (heads.length < 4 || !isLong) { return; }
            table.classList.add("fp-rows");
            table.querySelectorAll("tbody tr").forEach(function (row) {
                Array.from(row.children).forEach(function (cell, index) {
                    if (index > 0 && cell.textContent.trim() !== "") { cell.dataset.label = heads[index]; }
                });
            });
        });
    }

    if (typeof hljs !== "undefined") {
        if (window.fenceGrammar) { hljs.registerLanguage("fence", fence); }
        hljs.registerLanguage("cat", cat);
        hljs.registerLanguage("console", console_);
        const highlight = hljs.highlightElement || hljs.highlightBlock;
        document.querySelectorAll("pre > code").forEach(function (block) {
            const kinds = ["fence", "cat", "console"];
            const kind = kinds.find(function (kind) { return block.classList.contains("language-" + kind); });
            if (!kind) { return; }
            delete block.dataset.highlighted;
            highlight.call(hljs, block);
            block.classList.add("hljs");
            if (kind === "console") { verdicts(block); }
        });
    }
    document.querySelectorAll("pre > code.language-fence").forEach(label);
    breaks();
    rules();
    rows();
})();
