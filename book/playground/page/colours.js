// Texts in colours: kernels by the grammar of editors, reports by the codes that terminals have for them.
"use strict";

// What a scope of the grammar looks like.
const LOOKS = [
    ["comment", "comment"], ["string", "string"], ["keyword.operator.word", "opcode"], ["storage", "word"], ["keyword", "word"],
    ["variable.language", "register"], ["support.type", "type"], ["constant", "number"], ["entity.name", "function"],
];

// All rules at once: the first that matches at the leftmost place, as in editors.
const RULES = window.fenceGrammar.patterns.map((rule) => ({
    look: (LOOKS.find(([scope]) => rule.name.startsWith(scope)) || ["", "plain"])[1],
    source: rule.begin ? `${rule.begin}[^]*?(?:${rule.end}|$(?![^]))` : rule.match,
}));
const GRAMMAR = new RegExp(RULES.map((rule) => `(${rule.source})`).join("|"), "gm");

function span(look, text, tag = "span") {
    const element = document.createElement(tag);
    element.className = look;
    element.textContent = text;
    return element;
}

function coloured(text) {
    const parts = document.createDocumentFragment();
    let from = 0;
    for (const found of text.matchAll(GRAMMAR)) {
        if (found[0] === "") { continue; }
        parts.append(text.slice(from, found.index));
        const rule = RULES[found.slice(1).findIndex((group) => group !== undefined)];
        parts.append(span(rule.look, found[0]));
        from = found.index + found[0].length;
    }
    parts.append(text.slice(from));
    return parts;
}

const INKS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

// The looks that a terminal has after a code, given those before it.
function looks(before, codes) {
    const after = new Set(before);
    const ink = (name) => {
        [...after].filter((look) => look.startsWith("ink-")).forEach((look) => after.delete(look));
        if (name) { after.add(`ink-${name}`); }
    };
    for (let at = 0; at < codes.length; at += 1) {
        const code = codes[at];
        if (code === 0) { after.clear(); }
        else if (code === 1) { after.add("bold"); }
        else if (code === 2) { after.add("faint"); }
        else if (code === 3) { after.add("italic"); }
        else if (code === 4) { after.add("underlined"); }
        else if (code === 22) { after.delete("bold"); after.delete("faint"); }
        else if (code === 39) { ink(null); }
        else if (code >= 30 && code <= 37) { ink(INKS[code - 30]); }
        else if (code >= 90 && code <= 97) { ink(INKS[code - 90]); }
        else if (code === 38) { at += codes[at + 1] === 2 ? 4 : 2; }
    }
    return after;
}

// A report, with its colours, and places as `[name:3:7]` that lead there.
function told(text, name, go) {
    const parts = document.createDocumentFragment();
    let look = new Set();
    // Without the escape, which splits: codes, then a text, and so on.
    for (const [index, piece] of text.split(/\u001b\[([0-9;]*)m/).entries()) {
        if (index % 2 === 1) {
            look = looks(look, piece.split(";").map(Number));
            continue;
        }
        if (piece === "") { continue; }
        const element = span([...look].join(" "), "");
        const code = piece.match(/^\n*([a-z]+)::([a-z-]+)\s*$/);
        if (code && catalogue.codes.includes(code[1])) {
            const page = span("", piece, "a");
            page.href = `../reference/codes/${code[1]}.html#${code[1]}${code[2]}`;
            page.target = "_blank";
            parts.append(page);
            page.className = [...look].join(" ");
            continue;
        }
        let from = 0;
        for (const place of piece.matchAll(/([^\s[\]]+):([0-9]+):([0-9]+)/g)) {
            if (place[1] !== name) { continue; }
            element.append(piece.slice(from, place.index));
            const link = document.createElement("a");
            link.href = "#text";
            link.textContent = place[0];
            link.addEventListener("click", (event) => {
                event.preventDefault();
                go(Number(place[2]), Number(place[3]));
            });
            element.append(link);
            from = place.index + place[0].length;
        }
        element.append(piece.slice(from));
        parts.append(element);
    }
    return parts;
}
