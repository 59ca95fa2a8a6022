"""An editor with one open file: a real client of `tuner lsp`, over pipes."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lsprotocol import types
from pygls.lsp.client import LanguageClient

URI = "file:///srv/uwsgi.ini"


class Editor:
    """One open file, and what the server says of it."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.said: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda it: self.said.put_nowait(it))
        self.version = 1

    async def open(self, text: str, uri: str = URI) -> list[types.Diagnostic]:
        document = types.TextDocumentItem(uri, "ini", self.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return await self.diagnostics()

    async def type(self, line: int, text: str) -> list[types.Diagnostic]:
        """Put a text at the beginning of a line, from 0."""
        self.version += 1
        at = types.Position(line, 0)
        change = types.TextDocumentContentChangePartial(types.Range(at, at), text)
        document = types.VersionedTextDocumentIdentifier(self.version, URI)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
        return await self.diagnostics()

    async def diagnostics(self) -> list[types.Diagnostic]:
        said = await asyncio.wait_for(self.said.get(), 20)
        assert said.version in (None, self.version)
        return list(said.diagnostics)


@asynccontextmanager
async def editing(*arguments: str) -> AsyncIterator[Editor]:
    client = LanguageClient("an-editor", "1")
    editor = Editor(client)
    await client.start_io(sys.executable, "-m", "tuner.cli", "lsp", *arguments)
    await client.initialize_async(
        types.InitializeParams(capabilities=types.ClientCapabilities(), process_id=None)
    )
    client.initialized(types.InitializedParams())
    try:
        yield editor
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await asyncio.wait_for(client.stop(), 10)  # type: ignore[no-untyped-call]
