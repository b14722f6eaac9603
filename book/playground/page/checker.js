// The checker as the page has it: requests in, promises of answers out, one at a time; stopped by ending its thread.
"use strict";

class Stopped extends Error {}

class Trapped extends Error {}

class Checker {
    #module = null;
    #worker = null;
    #starting = null;
    #asked = null;
    #n = 0;

    // Compiled once; each thread gets it ready.
    #compiled() {
        this.#module ??= (async () => {
            const answer = await fetch("fencepost.wasm");
            if (!answer.ok) { throw new Error(`fencepost.wasm: ${answer.status} ${answer.statusText}`); }
            const typed = (answer.headers.get("Content-Type") || "").startsWith("application/wasm");
            if (typed && WebAssembly.compileStreaming) { return WebAssembly.compileStreaming(answer); }
            return WebAssembly.compile(await answer.arrayBuffer());
        })();
        this.#module.catch(() => { this.#module = null; });
        return this.#module;
    }

    // A thread with the module in it; one, however often it is asked for.
    start() {
        this.#starting ??= this.#started().finally(() => { this.#starting = null; });
        return this.#starting;
    }

    async #started() {
        if (this.#worker) { return; }
        const module = await this.#compiled();
        const worker = new Worker("worker.js");
        await new Promise((resolve, reject) => {
            worker.onmessage = ({ data }) => (data.ready ? resolve() : reject(new Error(data.trap)));
            worker.onerror = (event) => reject(new Error(event.message || "its thread cannot be started"));
            worker.postMessage({ module });
        });
        worker.onmessage = ({ data }) => this.#done(data);
        worker.onerror = (event) => this.#done({ id: this.#n, trap: event.message || "its thread ended" });
        this.#worker = worker;
    }

    #done({ id, answer, trap }) {
        const asked = this.#asked;
        if (!asked || asked.id !== id) { return; }
        this.#asked = null;
        if (trap === undefined) {
            asked.resolve(answer);
        } else {
            this.#end();
            asked.reject(new Trapped(trap));
        }
    }

    #end() {
        this.#worker?.terminate();
        this.#worker = null;
    }

    get busy() { return this.#asked !== null; }

    async ask(request) {
        this.stop();
        this.#n += 1;
        const id = this.#n;
        const answer = new Promise((resolve, reject) => { this.#asked = { id, resolve, reject }; });
        // Who asked has it below, unless it was stopped before.
        answer.catch(() => {});
        try {
            await this.start();
        } catch (error) {
            if (this.#asked?.id === id) { this.#asked = null; }
            throw error;
        }
        // It may have been stopped, or another one asked for, while the thread was started.
        if (this.#asked?.id === id) { this.#worker.postMessage({ id, request }); }
        return answer;
    }

    // Nothing else ends a check.
    stop() {
        if (!this.#asked) { return; }
        const asked = this.#asked;
        this.#asked = null;
        this.#end();
        asked.reject(new Stopped());
    }
}
