"""The page of a person's workspace: one file, with nothing in it that is not escaped."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from oragent._base.errors import StoreError, WorkspaceError
from oragent._base.files import replace
from oragent._base.plain import plain
from oragent.ledger.study import Finished
from oragent.milp.plain import rounded
from oragent.report.pages.html import make_environment
from oragent.workspace import tables
from oragent.workspace.citations import check, find
from oragent.workspace.folder import Home, finished
from oragent.workspace.reading import read_text
from oragent.workspace.versions import Versions

MOST_LINES = 300
MOST_ROWS = 60
QUOTED = re.compile(r"`([^`\n]{1,80})`")


def write_page(folder: Path) -> Path:
    """Write ``report.html`` into a workspace.

    Raises:
        StoreError: if it cannot be written.
        WorkspaceError: if there is no workspace.
    """
    path = folder / "report.html"
    text = page(folder)
    try:
        replace(path, text)
    except OSError as problem:
        raise StoreError(f"cannot write {path}: {problem}") from None
    return path


def page(folder: Path) -> str:
    """The page as HTML."""
    home = Home(folder)
    files, done = home.files(), finished(folder)
    with Versions(folder) as versions:
        history = [(one, versions.diff(one.number)) for one in versions.history()]
    program = home.program()
    code = _text(files, program).split("\n") if program else []
    names = _figures(files)
    written = [one for one in done if one.result.get("rows")]
    last = written[-1].result if written else {}
    return make_environment(Path(__file__).parent).get_template("page.html").render(
        title=folder.resolve().name, documents=_documents(files, names, code), tables=_tables(files, code),
        program=program, code="\n".join(code[:MOST_LINES * 2]), history=history, moves=_moves(done),
        rows=_rows(last), questions=_questions(files, done),
        differences=last.get("differences", ()),
    )  # fmt: skip


def _text(files: Mapping[str, Path], path: str) -> str:
    try:
        return read_text(files[path]) if path in files else ""
    except WorkspaceError as problem:
        return f"({problem})"


def _figures(files: Mapping[str, Path]) -> dict[str, str]:
    """First cells of tables and their places on the page, so that words in documents lead there."""
    found: dict[str, str] = {}
    for number, path in enumerate(one for one in files if one.endswith(".csv")):
        table = tables.read(_text(files, path)).table
        for place, row in enumerate(table.rows[:MOST_ROWS] if table else ()):
            if row and row[0].strip():
                found.setdefault(row[0].strip(), f"t{number}r{place}")
    return found


def _documents(files: Mapping[str, Path], names: Mapping[str, str], code: list[str]) -> list[tuple[str, Markup]]:
    """Documents with names in backquotes linked to their cells and to the lines of the program that use them."""
    found = []
    for path in files:
        if path.startswith("docs/"):
            lines = _text(files, path).split("\n")[:MOST_LINES]
            found.append((path, Markup("\n").join(_linked(line, names, code) for line in lines)))
    return found


def _linked(line: str, names: Mapping[str, str], code: list[str]) -> Markup:
    parts, place = [], 0
    for match in QUOTED.finditer(line):
        name = match[1]
        used = _lines_of(name, code)
        parts.append(escape(plain(line[place : match.start()])))
        target = f"#{names[name]}" if name in names else f"#l{used[0]}" if used else ""
        shown = escape(plain(name))
        parts.append(
            Markup('<a href="{}">{}</a>').format(target, shown) if target else Markup("<b>{}</b>").format(shown)
        )
        place = match.end()
    return Markup("").join([*parts, escape(plain(line[place:]))])


def _lines_of(name: str, code: list[str]) -> list[int]:
    """Lines of the program in which a name stands as a word."""
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return [number for number, line in enumerate(code, 1) if pattern.search(line)][:6]


def _tables(files: Mapping[str, Path], code: list[str]) -> list[dict[str, Any]]:
    """Tables, each row with the lines of the program that use it."""
    found = []
    for number, path in enumerate(one for one in files if one.endswith(".csv")):
        table = tables.read(_text(files, path)).table
        rows = [
            (f"t{number}r{place}", row, _lines_of(row[0].strip(), code) if row and row[0].strip() else [])
            for place, row in enumerate(table.rows[:MOST_ROWS] if table else ())
        ]
        found.append({"path": path, "head": table.header if table else (), "rows": rows})
    return found


def _moves(done: list[Finished]) -> list[tuple[str, str, str]]:
    """Objective after each verb that has one, and how far it is from the best."""
    told = [(one.name, one.result.get("objective"), str(one.result.get("standing") or "")) for one in done]
    return [(name, rounded(value), standing) for name, value, standing in told if isinstance(value, int | float)]


def _rows(last: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Rows with slack and dual of both versions."""
    before, after = last.get("rows_before", {}), last.get("rows", {})

    def told(pairs: Mapping[str, Any], name: str) -> tuple[str, str]:
        values = pairs.get(name, (None, None))
        slack, dual = ("–" if value is None else rounded(value) for value in values)
        return slack, dual

    return [(name, *told(before, name), *told(after, name)) for name in dict.fromkeys([*before, *after])][:400]


def _questions(files: Mapping[str, Path], done: list[Finished]) -> list[dict[str, Any]]:
    """Questions with their answers, and whether each citation still holds."""
    found = []
    for one in done:
        if one.result["verb"] == "ask":
            said = one.result["answer"]
            broken = {str(item.citation) for item in check(said, files)}
            cited = [(str(item), str(item) not in broken) for item in dict.fromkeys(find(said))]
            found.append({"question": one.result["request"], "answer": said, "cited": cited})
    return found
