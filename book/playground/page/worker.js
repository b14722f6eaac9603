// The checker, in a thread of its own: it is given the compiled module once, then requests, and answers each of them.
// What traps cannot go on; whoever asked is told, and starts another one.
"use strict";

let instance = null;

function text(at, length) {
    return new TextDecoder().decode(new Uint8Array(instance.exports.memory.buffer, at, length));
}

function answered(request) {
    const input = new TextEncoder().encode(JSON.stringify(request));
    const room = instance.exports.room(input.length);
    // Memory may have grown, and then it is another buffer.
    new Uint8Array(instance.exports.memory.buffer, room, input.length).set(input);
    const length = instance.exports.answer();
    return JSON.parse(text(instance.exports.answer_at(), length));
}

function panic() {
    try {
        return text(instance.exports.panic_at(), instance.exports.panic_bytes());
    } catch {
        return "";
    }
}

self.onmessage = async ({ data }) => {
    try {
        if (data.module) {
            instance = await WebAssembly.instantiate(data.module, {});
            self.postMessage({ ready: true });
        } else {
            self.postMessage({ id: data.id, answer: answered(data.request) });
        }
    } catch (error) {
        self.postMessage({ id: data.id, trap: panic() || String(error) });
    }
};
