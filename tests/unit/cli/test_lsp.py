"""`tuner lsp` as an editor sees it: a real client and a real server, over pipes."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from lsprotocol import types

from tests.editor import URI, Editor, editing

TEXT = "[uwsgi]\nhttp-socket = :8000\nmodule = shop\nprocesses = 4 ; per CPU\nlisten = '128'"


def edited(does: Callable[[Editor], Coroutine[Any, Any, None]], *arguments: str) -> None:
    async def run() -> None:
        async with editing(*arguments) as editor:
            await does(editor)

    asyncio.run(asyncio.wait_for(run(), 60))


def places(found: list[types.Diagnostic]) -> set[tuple[str, int]]:
    return {(str(each.code), each.range.start.line) for each in found}


def test_findings_come_while_one_types() -> None:
    async def does(editor: Editor) -> None:
        found = await editor.open(TEXT)
        quoted = next(each for each in found if each.code == "U034")
        assert (quoted.range.start.line, quoted.severity) == (4, types.DiagnosticSeverity.Error)
        assert quoted.message.startswith("quoted-value: the quotes are part of the value")
        assert quoted.message.endswith("Fix: remove the quotes.")
        found = await editor.type(1, "proceses = 2\n")
        assert ("U019", 1) in places(found)
        assert ("U034", 5) in places(found), "one line further down"

    edited(does)


def test_the_box_is_that_of_the_command() -> None:
    async def does(editor: Editor) -> None:
        found = await editor.open(TEXT.replace("4 ; per CPU", "90"))
        assert ("U100", 3) in places(found)
        found = await editor.type(1, "max-requests-delta = 3\n")
        assert ("U022", 1) in places(found), "it came with 2.0.29"

    edited(does, "--memory", "512", "--uwsgi", "2.0.23")


def test_a_fix_is_one_edit_of_the_lines_that_change() -> None:
    async def does(editor: Editor) -> None:
        # A sign of Unicode ends no line, neither for uWSGI nor for an editor.
        await editor.open(TEXT.replace("shop", "shop\u2028"))
        last = types.Range(types.Position(4, 0), types.Position(4, 1))
        document = types.TextDocumentIdentifier(URI)
        asked = types.CodeActionParams(document, last, types.CodeActionContext(diagnostics=[]))
        actions = await editor.client.text_document_code_action_async(asked)
        (quotes,) = [a for a in actions or () if a.title == "remove the quotes"]
        assert isinstance(quotes, types.CodeAction)
        assert quotes.is_preferred
        assert quotes.edit is not None
        assert quotes.edit.changes is not None
        (edit,) = quotes.edit.changes[URI]
        place = types.Range(types.Position(4, 0), types.Position(5, 0))
        assert edit == types.TextEdit(place, "listen = 128")

    edited(does)


def test_over_an_option_is_what_it_does() -> None:
    async def does(editor: Editor) -> None:
        await editor.open(TEXT)
        document = types.TextDocumentIdentifier(URI)
        found = [
            await editor.client.text_document_hover_async(
                types.HoverParams(document, types.Position(line, 0))
            )
            for line in (0, 4)
        ]
        assert found[0] is None
        assert found[1] is not None
        assert isinstance(found[1].contents, types.MarkupContent)
        assert found[1].contents.value.startswith("listen\n")
        assert "default  100" in found[1].contents.value

    edited(does)


def test_names_and_values_are_completed() -> None:
    async def does(editor: Editor) -> None:
        await editor.open("[uwsgi]\nproc\nmaster =")
        document = types.TextDocumentIdentifier(URI)
        labels = []
        for line, character in ((1, 4), (2, 8)):
            at = types.CompletionParams(document, types.Position(line, character))
            found = await editor.client.text_document_completion_async(at)
            assert isinstance(found, list)
            labels.append([item.label for item in found])
        assert {"processes", "master"} < {*labels[0]}
        assert labels[1] == ["true", "false"]

    edited(does)


def test_an_ini_file_of_another_program_is_left_alone() -> None:
    async def does(editor: Editor) -> None:
        assert await editor.open("[alembic]\nproceses = 2\n", "file:///srv/alembic.ini") == []
        assert await editor.open("[uwsgi]\nproceses = 2\n", "file:///srv/shop.ini") != []

    edited(does)
