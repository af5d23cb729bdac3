"""JSON output of all commands: the options ``--json`` and ``--progress-json``, and the function that writes documents.

A command publishes its result with ``publish_result``. With ``--json``, standard output holds one document:
``{"command", "exit_code", "result"}``, or ``{"command", "exit_code", "error"}``. If a command publishes no result, its
printed text is the result.
"""

import functools
import inspect
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from itertools import takewhile
from typing import Annotated, Any, NoReturn

import typer

from oragent._base.documents import JsonValue, describe_error, dump_json, to_plain
from oragent._base.errors import OragentError
from oragent._base.publishing import ProgressListener, listen
from oragent._base.text_format import escape_text

JSON, PROGRESS = "--json", "--progress-json"
# Maximum number of printed lines that become the result of a command that publishes none.
MAX_LINES = 2000


class UsageError(OragentError):
    """Wrong command line: an unknown command or option, or a missing argument."""


AsJson = Annotated[bool, typer.Option(JSON, help="Print the result as one JSON document.")]
ProgressJson = Annotated[bool, typer.Option(PROGRESS, help="Print progress on stderr, a JSON object per line.")]


def with_json(command: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a command with the options ``--json`` and ``--progress-json``; ``name`` is its name in documents."""
    signature = inspect.signature(command)
    options = {"as_json": AsJson, "progress_json": ProgressJson}
    parameters = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for option, annotation in options.items()
    ]

    @functools.wraps(command)
    def run(*arguments: Any, as_json: bool = False, progress_json: bool = False, **named: Any) -> None:
        progress = _write_progress if progress_json else None
        if as_json:
            _run_as_json(lambda: command(*arguments, **named), name, progress)
        with listen(None, progress):
            command(*arguments, **named)

    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *parameters])  # type: ignore[attr-defined]
    run.__annotations__ = {**command.__annotations__, **options}
    return run


def _run_as_json(command: Callable[[], None], name: str, progress: ProgressListener | None) -> NoReturn:
    """Run a command, write its document, and exit with its code."""
    results: list[object] = []
    text = io.StringIO()
    code = 0
    try:
        with redirect_stdout(text), listen(results.append, progress):
            command()
    except typer.Exit as end:
        code = end.exit_code
    result = results[-1] if results else {"text": _read_lines(text.getvalue())}
    write_document(name, code, {"result": to_plain(result)})
    raise typer.Exit(code)


def wants_json(words: Sequence[str]) -> bool:
    """Return True if a command line asks for JSON."""
    return JSON in takewhile(lambda word: word != "--", words)


def write_error(words: Sequence[str], problem: BaseException, code: int) -> None:
    """Write the document of a command that ended with an error."""
    name = " ".join(takewhile(lambda word: not word.startswith("-"), words[:1]))
    write_document(name, code, describe_error(problem))


def write_document(command: str, code: int, content: Mapping[str, JsonValue]) -> None:
    """Write one document on standard output."""
    sys.stdout.write(dump_json({"command": command, "exit_code": code, **content}) + "\n")
    sys.stdout.flush()


def _write_progress(kind: str, data: Mapping[str, object]) -> None:
    sys.stderr.write(dump_json({"event": kind, **data}) + "\n")
    sys.stderr.flush()


def _read_lines(text: str) -> list[JsonValue]:
    return [escape_text(line.rstrip()) for line in text.splitlines()[:MAX_LINES] if line.strip()]
