// The module as the page's worker has it, for scripts.
import { readFile } from "node:fs/promises";

export class Module {
    static async load(path) {
        const module = new Module();
        module.compiled = await WebAssembly.compile(await readFile(path));
        await module.renew();
        return module;
    }

    async renew() { this.exports = (await WebAssembly.instantiate(this.compiled, {})).exports; }

    text(at, length) { return new TextDecoder().decode(new Uint8Array(this.exports.memory.buffer, at, length)); }

    ask(request) {
        const input = new TextEncoder().encode(typeof request === "string" ? request : JSON.stringify(request));
        const room = this.exports.room(input.length);
        new Uint8Array(this.exports.memory.buffer, room, input.length).set(input);
        const length = this.exports.answer();
        return JSON.parse(this.text(this.exports.answer_at(), length));
    }

    panic() { return this.text(this.exports.panic_at(), this.exports.panic_bytes()); }
}
