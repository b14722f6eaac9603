// A kernel as a part of an address, and back: what a link to the playground says. Nothing of it is sent to a server.
(function () {
    "use strict";

    // Of a kernel from a link: what is longer is no kernel, but a bomb.
    const CHARS_MAX = 1 << 20;

    function letters(bytes) {
        let binary = "";
        for (const byte of bytes) { binary += String.fromCharCode(byte); }
        return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
    }

    function bytes(letters) {
        const binary = atob(letters.replace(/-/g, "+").replace(/_/g, "/"));
        return Uint8Array.from(binary, function (char) { return char.charCodeAt(0); });
    }

    async function through(stream, input) {
        const piped = new Blob([input]).stream().pipeThrough(stream);
        const reader = piped.getReader();
        const chunks = [];
        let size = 0;
        for (;;) {
            const { done, value } = await reader.read();
            if (done) { break; }
            size += value.length;
            if (size > 4 * CHARS_MAX) {
                await reader.cancel();
                throw new Error("it is too long");
            }
            chunks.push(value);
        }
        return new Uint8Array(await new Blob(chunks).arrayBuffer());
    }

    window.fenceLink = {
        CHARS_MAX,

        // `z=…` where the browser can compress, else `u=…`.
        async pack(text) {
            const plain = new TextEncoder().encode(text);
            if (typeof CompressionStream !== "function") { return "u=" + letters(plain); }
            return "z=" + letters(await through(new CompressionStream("deflate-raw"), plain));
        },

        async unpack(part) {
            const plain = bytes(part.slice(2));
            const all = part.startsWith("z=") ? await through(new DecompressionStream("deflate-raw"), plain) : plain;
            const text = new TextDecoder("utf-8", { fatal: true }).decode(all);
            if (text.length > CHARS_MAX) { throw new Error("it is too long"); }
            return text;
        },
    };
})();
