// An execution, step by step. Each time all choices are sent: the checker keeps nothing between two of them.
"use strict";

class Steps {
    #ask;
    #choices = [];
    #of = null;
    #buttons = {};

    // `ask` sends a request about the kernel that is in the editor, and gives the answer, or nothing where there is none.
    constructor(ask) {
        this.#ask = ask;
        const button = (id, then) => {
            this.#buttons[id] = document.getElementById(id);
            this.#buttons[id].addEventListener("click", then);
        };
        button("start", () => this.#go([]));
        button("next", () => this.#go([...this.#choices, "+"]));
        button("end", () => this.#go([...this.#choices, "*"]));
        button("back", () => this.#go(this.#choices.slice(0, -1)));
    }

    // Of another kernel nothing is begun.
    clear() {
        this.#choices = [];
        this.#of = null;
        document.getElementById("can").replaceChildren();
        document.getElementById("done").replaceChildren();
        document.getElementById("drawn").replaceChildren();
        document.getElementById("outcome").hidden = true;
        document.getElementById("where").textContent =
            "One execution, one step after the other: choose who goes on, and what is read.";
        this.#able(false);
    }

    #able(begun, over = false) {
        this.#buttons.start.textContent = begun ? "Start anew" : "Start";
        this.#buttons.next.disabled = this.#buttons.end.disabled = !begun || over;
        this.#buttons.back.disabled = !begun || this.#choices.length === 0;
    }

    async #go(choices) {
        const where = document.activeElement?.id;
        const [entry, launch] = document.getElementById("launch").value.split("\n");
        const chosen = launch === undefined ? {} : { entry, launch };
        const answer = await this.#ask({ do: "run", choices, ...chosen });
        if (!answer) { return; }
        if (answer.error !== undefined) {
            this.clear();
            const said = document.getElementById("outcome");
            said.replaceChildren(told(answer.error, "", () => {}));
            said.hidden = false;
            return;
        }
        this.#choices = choices;
        this.#show(answer);
        // Whoever uses the keyboard stays where something can be pressed.
        const button = document.getElementById(where || "");
        if (button?.disabled) { this.#buttons[answer.over ? "start" : "next"].focus(); }
    }

    #show(answer) {
        this.#able(true, answer.over);
        document.getElementById("where").textContent = `Step ${answer.steps.length}: ${answer.end}.`;
        document.getElementById("done").replaceChildren(...answer.steps.map((step) => {
            const line = document.createElement("li");
            line.textContent = step.trim().replace(/^[0-9]+\s+/, "");
            return line;
        }));
        document.getElementById("can").replaceChildren(...answer.standing.map((one) => this.#standing(one)));
        const outcome = document.getElementById("outcome");
        outcome.hidden = answer.text === "";
        outcome.replaceChildren(told(answer.text, "", () => {}));
        const drawn = document.getElementById("drawn");
        drawn.querySelectorAll("img").forEach((image) => URL.revokeObjectURL(image.src));
        drawn.replaceChildren();
        if (answer.picture !== "") {
            const image = document.createElement("img");
            image.alt = `The ${answer.steps.length} steps so far, drawn`;
            image.src = URL.createObjectURL(new Blob([answer.picture], { type: "image/svg+xml" }));
            drawn.append(image);
        }
    }

    // Who is where, and what can be chosen there.
    #standing(one) {
        const row = document.createElement("div");
        row.className = one.next ? "agent next" : "agent";
        const name = span("name", one.name);
        row.append(name, span("told", one.told));
        if (!one.can) { return row; }
        const choose = (text, choice) => {
            const button = document.createElement("button");
            button.type = "button";
            button.textContent = text;
            button.addEventListener("click", () => this.#go([...this.#choices, choice]));
            row.append(button);
        };
        if (one.ways.length > 1) {
            one.ways.forEach((way, number) => choose(way, `${one.agent}#${number + 1}`));
        } else {
            choose(one.ways[0] || "go on", one.agent);
        }
        return row;
    }
}
