"""`fencepost lsp` with a client that is not ours: pytest-lsp, which also holds each message against the protocol and what an editor
says that it can.

    FENCEPOST=target/release/fencepost pytest dsl/editors/tests
"""

import asyncio
import os
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

ROOT = Path(__file__).resolve().parents[3]
FENCEPOST = os.environ.get("FENCEPOST", str(ROOT / "target/release/fencepost"))
# What the server is driven with in checker/cli/tests/lsp.rs, too.
RACE = (Path(__file__).parent / "race.fence").read_text(encoding="utf-8")


@pytest_lsp.fixture(
    params=["visual-studio-code", "neovim", "emacs"],
    config=ClientServerConfig(server_command=[FENCEPOST, "lsp"]),
)
async def client(request, lsp_client: LanguageClient):
    # Editors that say they can be asked to watch files are asked, and answer; this client has no answer of its own.
    @lsp_client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams):
        assert [registration.method for registration in params.registrations] == ["workspace/didChangeWatchedFiles"]

    await lsp_client.initialize_session(
        types.InitializeParams(capabilities=client_capabilities(request.param), root_uri=ROOT.as_uri())
    )
    yield
    await lsp_client.shutdown_session()


def opened(client, path, text, language="fence"):
    path.write_text(text, encoding="utf-8")
    item = types.TextDocumentItem(uri=path.as_uri(), language_id=language, version=1, text=text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
    return path.as_uri()


def changed(client, uri, version, text):
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            text_document=types.VersionedTextDocumentIdentifier(uri=uri, version=version),
            content_changes=[types.TextDocumentContentChangeWholeDocument(text=text)],
        )
    )


def saved(client, uri):
    client.text_document_did_save(types.DidSaveTextDocumentParams(text_document=types.TextDocumentIdentifier(uri=uri)))


async def shown(client, uri, wanted):
    """The diagnostics of a file, once they are what is waited for."""

    async def come():
        while not (uri in client.diagnostics and wanted(client.diagnostics[uri])):
            await asyncio.sleep(0.02)

    try:
        await asyncio.wait_for(come(), 60)
    except asyncio.TimeoutError:
        pytest.fail(f"what is shown of {uri} is {client.diagnostics.get(uri)}; known: {list(client.diagnostics)}")
    return client.diagnostics[uri]


def at(text, what):
    before = text[: text.index(what)]
    line = before.rsplit("\n", 1)[-1]
    return types.Position(line=before.count("\n"), character=len(line.encode("utf-16-le")) // 2)


def mended(text, edits):
    """A text with edits made; lines of these texts are ASCII but for the first."""
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True):
        start, end = edit.range.start, edit.range.end
        assert start.line == end.line
        line = lines[start.line]
        lines[start.line] = line[: start.character] + edit.new_text + line[end.character :]
    return "\n".join(lines)


@pytest.mark.asyncio
async def test_what_is_typed_is_answered(client: LanguageClient, tmp_path):
    uri = opened(client, tmp_path / "typed.fence", "// \U0001f980\nkernel k { global x: u32 = 0; st [y], 1; }\n")
    (error,) = await shown(client, uri, lambda found: len(found) == 1)
    assert (error.range.start.line, error.range.start.character) == (1, 34)
    changed(client, uri, 2, "kernel k { global x: u32 = 0; st [x], 1; }\n")
    await shown(client, uri, lambda found: not found)


@pytest.mark.asyncio
async def test_a_saved_file_is_checked_and_its_fix_proves_it(client: LanguageClient, tmp_path):
    uri = opened(client, tmp_path / "race.fence", RACE)
    await shown(client, uri, lambda found: not found)
    saved(client, uri)
    found = await shown(client, uri, lambda found: any(one.code == "race::uniform" for one in found))
    race = next(one for one in found if one.code == "race::uniform")
    place = at(RACE, "st.relaxed")
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(uri=uri),
            range=types.Range(start=place, end=place),
            context=types.CodeActionContext(diagnostics=[race]),
        )
    )
    text = mended(RACE, actions[0].edit.changes[uri])
    assert "st.release.gpu [flag], 1;" in text
    changed(client, uri, 2, text)
    saved(client, uri)
    await shown(client, uri, lambda found: not found)


@pytest.mark.asyncio
async def test_names_and_instructions_are_told(client: LanguageClient, tmp_path):
    uri = opened(client, tmp_path / "names.fence", RACE)
    document = types.TextDocumentIdentifier(uri=uri)
    hover = await client.text_document_hover_async(types.HoverParams(text_document=document, position=at(RACE, "st.weak")))
    assert "st.weak.global.u32" in str(hover.contents)
    place = await client.text_document_definition_async(
        types.DefinitionParams(text_document=document, position=at(RACE, "flag], 1"))
    )
    places = place if isinstance(place, list) else [place]
    assert places[0].range.start.line == at(RACE, "flag: u32").line
    edit = await client.text_document_rename_async(
        types.RenameParams(text_document=document, position=at(RACE, "flag], 1"), new_name="ready")
    )
    assert len(edit.changes[uri]) == 3
    items = await client.text_document_completion_async(
        types.CompletionParams(text_document=document, position=at(RACE, ".weak [data], 42"))
    )
    assert items
    edits = await client.text_document_formatting_async(
        types.DocumentFormattingParams(
            text_document=document, options=types.FormattingOptions(tab_size=4, insert_spaces=True)
        )
    )
    assert not edits


@pytest.mark.asyncio
async def test_a_name_of_cuda_becomes_what_it_is_here(client: LanguageClient, tmp_path):
    text = "kernel k {\n    launch { warps: 2 }\n    __sync\n}\n"
    uri = opened(client, tmp_path / "cuda.fence", text)
    await shown(client, uri, lambda found: found)
    start = at(text, "__sync")
    items = await client.text_document_completion_async(
        types.CompletionParams(
            text_document=types.TextDocumentIdentifier(uri=uri),
            position=types.Position(line=start.line, character=start.character + len("__sync")),
        )
    )
    (item,) = [item for item in items if item.label == "__syncthreads"]
    written = mended(text, [item.text_edit])
    assert "    bar.sync 0;\n" in written
    changed(client, uri, 2, written)
    await shown(client, uri, lambda found: not found)


@pytest.mark.asyncio
async def test_a_compiled_kernel_is_shown_what_is_wrong_with_it(client: LanguageClient, tmp_path):
    right = (ROOT / "examples/ptx/spin_lock.ptx").read_text(encoding="utf-8")
    wrong = right.replace("st.release.gpu.b32", "st.relaxed.gpu.b32")
    assert wrong != right
    compiled = tmp_path / "spin_lock.ptx"
    compiled.write_text(wrong, encoding="utf-8")
    uri = opened(client, tmp_path / "spin_lock.fence", (ROOT / "examples/ptx/spin_lock.fence").read_text(encoding="utf-8"))
    saved(client, uri)
    await shown(client, compiled.as_uri(), lambda found: any(one.source == "fencepost" for one in found))
    compiled.write_text(right, encoding="utf-8")
    client.workspace_did_change_watched_files(
        types.DidChangeWatchedFilesParams(
            changes=[types.FileEvent(uri=compiled.as_uri(), type=types.FileChangeType.Changed)]
        )
    )
    await shown(client, compiled.as_uri(), lambda found: not found)
    await shown(client, uri, lambda found: not found)
