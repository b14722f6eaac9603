// Starts `fencepost lsp` for kernels that are open, and hands over what both sides say.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function command() {
    return vscode.workspace.getConfiguration("fencepost").get("path") || "fencepost";
}

async function start() {
    const server = { command: command(), args: ["lsp"] };
    client = new LanguageClient("fencepost", "Fencepost", { run: server, debug: server }, {
        // Compiled kernels, too: what is found in them is shown there, and saving one has its harness checked.
        documentSelector: [{ language: "fence" }, { scheme: "file", pattern: "**/*.ptx" }],
    });
    try {
        await client.start();
    } catch (error) {
        client = undefined;
        const set = "Set the path";
        const why = `Fencepost: \`${command()}\` could not be started (${error.message}). Is it installed, and in PATH?`;
        if (await vscode.window.showErrorMessage(why, set) === set) {
            await vscode.commands.executeCommand("workbench.action.openSettings", "fencepost.path");
        }
    }
}

async function stop() {
    const old = client;
    client = undefined;
    await old?.stop().catch(() => {});
}

// In a terminal, where each step is asked for.
function run() {
    const document = vscode.window.activeTextEditor?.document;
    if (document?.languageId !== "fence" || document.isUntitled) {
        vscode.window.showInformationMessage("Fencepost: open a kernel file, and save it, to go through an execution.");
        return;
    }
    const options = { name: "fencepost run", shellPath: command(), shellArgs: ["run", document.fileName] };
    vscode.window.createTerminal(options).show();
}

exports.activate = async (context) => {
    context.subscriptions.push(
        vscode.commands.registerCommand("fencepost.restart", async () => {
            await stop();
            await start();
        }),
        vscode.commands.registerCommand("fencepost.run", run),
        vscode.workspace.onDidChangeConfiguration(async (change) => {
            if (change.affectsConfiguration("fencepost.path")) {
                await stop();
                await start();
            }
        }),
    );
    await start();
};

exports.deactivate = stop;
