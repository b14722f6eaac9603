// A field of text with colours below it and numbers beside it: what is typed is a plain textarea's.
"use strict";

// Longer texts have no colours, and no numbers beyond this many lines: the field itself goes on.
const COLOURED_MAX = 200_000;
const LINES_MAX = 20_000;

// Where a line and a column are, both from 1; columns count characters, of which some are two units of a string.
function offset(text, line, column) {
    let at = 0;
    for (let n = 1; n < line; n += 1) {
        const end = text.indexOf("\n", at);
        if (end < 0) { return text.length; }
        at = end + 1;
    }
    for (let n = 1; n < column && at < text.length; n += 1) { at += text.codePointAt(at) > 0xffff ? 2 : 1; }
    return at;
}

class Editor {
    #field = document.getElementById("text");
    #colours = document.getElementById("colours");
    #numbers = document.getElementById("numbers");
    #marks = new Set();
    #drawn = 0;
    onchange = () => {};

    constructor() {
        this.#field.addEventListener("input", () => this.#changed());
        this.#field.addEventListener("scroll", () => this.#scrolled());
        // Tab indents; Escape gives the key back to the page, until the field is come to anew.
        let leaves = false;
        this.#field.addEventListener("focus", () => { leaves = false; });
        this.#field.addEventListener("keydown", (event) => {
            if (event.key === "Escape") { leaves = true; }
            if (event.key !== "Tab" || event.shiftKey || event.ctrlKey || event.altKey || leaves) { return; }
            event.preventDefault();
            this.#insert("    ");
        });
    }

    get text() { return this.#field.value; }

    // As if typed, so that it can be undone.
    set text(text) {
        this.#field.focus({ preventScroll: true });
        this.#field.setSelectionRange(0, this.#field.value.length);
        // What is long takes a browser minutes that way.
        if (text.length > COLOURED_MAX || this.#field.value.length > COLOURED_MAX) {
            this.#field.value = text;
            this.#changed();
        } else {
            this.#insert(text);
        }
        this.#field.setSelectionRange(0, 0);
        this.#field.scrollTo(0, 0);
    }

    // Without taking the keyboard.
    load(text) {
        this.#field.value = text;
        this.#field.scrollTo(0, 0);
        this.#changed();
    }

    #insert(text) {
        const done = text !== "" && document.execCommand("insertText", false, text);
        if (done && this.#field.value.includes(text)) { return; }
        this.#field.setRangeText(text, this.#field.selectionStart, this.#field.selectionEnd, "end");
        this.#changed();
    }

    #changed() {
        this.#marks.clear();
        this.#draw();
        this.onchange();
    }

    // Once a frame, however fast somebody types.
    #draw() {
        if (this.#drawn) { return; }
        this.#drawn = requestAnimationFrame(() => {
            this.#drawn = 0;
            const text = this.text;
            const isColoured = text.length <= COLOURED_MAX;
            this.#field.classList.toggle("plain", !isColoured);
            // The last line has a height only if something follows it.
            this.#colours.replaceChildren(...(isColoured ? [coloured(text), "\n"] : []));
            this.#number(text);
            this.#scrolled();
        });
    }

    #number(text) {
        let lines = 1;
        for (let at = text.indexOf("\n"); at >= 0 && lines < LINES_MAX; at = text.indexOf("\n", at + 1)) { lines += 1; }
        const parts = [];
        for (let line = 1; line <= lines; line += 1) {
            parts.push(this.#marks.has(line) ? span("marked", `${line}\n`) : `${line}\n`);
        }
        this.#numbers.replaceChildren(...parts);
    }

    #scrolled() {
        this.#colours.scrollTo(this.#field.scrollLeft, this.#field.scrollTop);
        this.#numbers.scrollTo(0, this.#field.scrollTop);
    }

    // Lines that a report is about.
    mark(lines) {
        this.#marks = new Set(lines);
        this.#draw();
    }

    // To a line and a column, both from 1; columns count characters.
    go(line, column) {
        const at = offset(this.text, line, column);
        this.#field.focus();
        this.#field.setSelectionRange(at, at);
        const height = parseFloat(getComputedStyle(this.#field).lineHeight);
        this.#field.scrollTo(0, Math.max(0, (line - 4) * height));
    }
}
