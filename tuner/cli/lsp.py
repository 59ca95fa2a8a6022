"""`tuner lsp`: the linter and the options in an editor, by the Language Server Protocol.

Findings come while one types; each has its quick fix. Over an option: what it does, its default and
its releases. The protocol is that of pygls; here is only what uWSGI's files mean.
"""

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from tuner.cli.options import lines_about
from tuner.cli.placing import Asked, of_file
from tuner.cli.shared import Cpus, MemoryMb, text_beside
from tuner.cli.versions import Release, catalogues_of
from tuner.uwsgi import lint as linter
from tuner.uwsgi.forms import form_of
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.ini.lines import lines_of
from tuner.uwsgi.lint import Box, Finding, Severity
from tuner.uwsgi.lint.finding import edit_between
from tuner.uwsgi.options import Catalogue, Kind, Option

SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


def lsp(cpus: Cpus = None, memory: MemoryMb = None, uwsgi: Release = None) -> None:
    """Serve an editor on standard input and output: findings, fixes, options. It needs no service.

    --cpus and --memory are the limits of the container for which the files are written.
    """
    (catalogue,) = catalogues_of(["."], uwsgi)
    server_of(catalogue, Box(cpus=cpus, memory_mb=memory)).start_io()


def server_of(catalogue: Catalogue, box: Box) -> LanguageServer:
    """A server for files that this uWSGI reads in that box."""

    def findings(document: TextDocument) -> tuple[Finding, ...]:
        return findings_in(document, catalogue, box)

    server = LanguageServer("tuner", version("uwsgi-tuner"))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def look(
        params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams,
    ) -> None:
        document = server.workspace.get_text_document(params.text_document.uri)
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=document.uri,
                version=document.version,
                diagnostics=[_diagnostic(document, f) for f in findings(document)],
            )
        )

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def forget(params: types.DidCloseTextDocumentParams) -> None:
        empty = types.PublishDiagnosticsParams(uri=params.text_document.uri, diagnostics=[])
        server.text_document_publish_diagnostics(empty)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    def fixes(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = server.workspace.get_text_document(params.text_document.uri)
        first, last = params.range.start.line, params.range.end.line
        near = [f for f in findings(document) if first <= _line_of(f) <= last]
        return [_action(document, f) for f in linter.applicable(near, unsafe=True)]

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def explain(params: types.HoverParams) -> types.Hover | None:
        document = server.workspace.get_text_document(params.text_document.uri)
        option = option_at(document, params.position.line, catalogue)
        if option is None:
            return None
        text = "\n".join(lines_about(catalogue, option))
        return types.Hover(types.MarkupContent(types.MarkupKind.PlainText, text))

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["="])
    )
    def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        document = server.workspace.get_text_document(params.text_document.uri)
        at = params.position
        typed = (document.lines[at.line] if at.line < len(document.lines) else "")[: at.character]
        return list(_values(catalogue, typed) if "=" in typed else _names(catalogue))

    return server


# ---- What a document means


def findings_in(document: TextDocument, catalogue: Catalogue, box: Box) -> tuple[Finding, ...]:
    """What is wrong with it; nothing for an ini file of another program."""
    name = Path(document.path or document.uri).name
    if "uwsgi" not in name and "[uwsgi" not in document.source:
        return ()
    asked = Asked(
        catalogue, box, linter.RULES, partial(text_beside, Path(document.path or ".").parent)
    )
    return of_file(document.source, form_of(name), "", asked)


def option_at(document: TextDocument, line: int, catalogue: Catalogue) -> Option | None:
    """The option that a line sets, from 0."""
    lines = IniFile.parse(document.source).lines
    key = lines[line].key if line < len(lines) else None
    return catalogue.find(key) if key else None


def _line_of(finding: Finding) -> int:
    return (finding.line or 1) - 1


def _diagnostic(document: TextDocument, finding: Finding) -> types.Diagnostic:
    line = _line_of(finding)
    lines = lines_of(document.source)[line : line + 1]
    end = document.position_codec.client_num_units("".join(lines).rstrip("\r\n"))
    advice = f" Fix: {finding.fix.sentence}." if finding.fix else ""
    return types.Diagnostic(
        range=types.Range(types.Position(line, 0), types.Position(line, end)),
        severity=SEVERITIES[finding.severity],
        code=finding.rule,
        source="tuner",
        message=f"{finding.name}: {finding.message}.{advice}",
    )


def _action(document: TextDocument, finding: Finding) -> types.CodeAction:
    """One edit, of the lines that the fix changes."""
    text = document.source
    changed = linter.fixed(text, [finding], unsafe=True)
    edit = edit_between(text, changed)
    first = edit.first - 1
    place = types.Range(types.Position(first, 0), types.Position(edit.last, 0))
    new = "".join(lines_of(changed)[first : first + len(edit.lines)])
    return types.CodeAction(
        title=finding.fix.sentence if finding.fix else finding.name,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[_diagnostic(document, finding)],
        edit=types.WorkspaceEdit(changes={document.uri: [types.TextEdit(place, new)]}),
        is_preferred=finding.fix is not None and finding.fix.is_safe,
    )


def _names(catalogue: Catalogue) -> Iterator[types.CompletionItem]:
    for option in catalogue.options:
        yield types.CompletionItem(
            label=option.name,
            kind=types.CompletionItemKind.Property,
            detail=option.sentence or None,
            insert_text=f"{option.name} = ",
        )


def _values(catalogue: Catalogue, typed: str) -> Iterator[types.CompletionItem]:
    option = catalogue.find(typed.partition("=")[0].strip())
    if option is None:
        return
    values = ["true", "false"] if option.kind is Kind.FLAG else [option.default or ""]
    for value in filter(None, values):
        yield types.CompletionItem(label=value, kind=types.CompletionItemKind.Value)
