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
from oragent.workspace.citations import check_citations, find_citations
from oragent.workspace.folder import WorkspaceFolder, finished_verbs
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
    text = render_page(folder)
    try:
        replace(path, text)
    except OSError as problem:
        raise StoreError(f"cannot write {path}: {problem}") from None
    return path


def render_page(folder: Path) -> str:
    """The page as HTML."""
    home = WorkspaceFolder(folder)
    files, verbs = home.list_files(), finished_verbs(folder)
    with Versions(folder) as versions:
        history = [(verb, versions.describe_diff(verb.number)) for verb in versions.list_versions()]
    program = home.find_program()
    code = _read_file(files, program).split("\n") if program else []
    names = _figure_anchors(files)
    written = [verb for verb in verbs if verb.result.get("rows")]
    last = written[-1].result if written else {}
    return make_environment(Path(__file__).parent).get_template("page.html").render(
        title=folder.resolve().name, documents=_link_documents(files, names, code), tables=_read_tables(files, code),
        program=program, code="\n".join(code[:MOST_LINES * 2]), history=history, moves=_objective_moves(verbs),
        rows=_compare_row_figures(last), questions=_answered_questions(files, verbs),
        differences=last.get("differences", ()),
    )  # fmt: skip


def _read_file(files: Mapping[str, Path], path: str) -> str:
    try:
        return read_text(files[path]) if path in files else ""
    except WorkspaceError as problem:
        return f"({problem})"


def _figure_anchors(files: Mapping[str, Path]) -> dict[str, str]:
    """First cells of tables and their places on the page, so that words in documents lead there."""
    anchors: dict[str, str] = {}
    for number, path in enumerate(one for one in files if one.endswith(".csv")):
        table = tables.read_table(_read_file(files, path)).table
        for index, row in enumerate(table.rows[:MOST_ROWS] if table else ()):
            if row and row[0].strip():
                anchors.setdefault(row[0].strip(), f"t{number}r{index}")
    return anchors


def _link_documents(files: Mapping[str, Path], names: Mapping[str, str], code: list[str]) -> list[tuple[str, Markup]]:
    """Documents with names in backquotes linked to their cells and to the lines of the program that use them."""
    documents = []
    for path in files:
        if path.startswith("docs/"):
            lines = _read_file(files, path).split("\n")[:MOST_LINES]
            documents.append((path, Markup("\n").join(_link_line(text, names, code) for text in lines)))
    return documents


def _link_line(text: str, names: Mapping[str, str], code: list[str]) -> Markup:
    parts, position = [], 0
    for match in QUOTED.finditer(text):
        name = match[1]
        used = _lines_of(name, code)
        parts.append(escape(plain(text[position : match.start()])))
        target = f"#{names[name]}" if name in names else f"#l{used[0]}" if used else ""
        shown = escape(plain(name))
        parts.append(
            Markup('<a href="{}">{}</a>').format(target, shown) if target else Markup("<b>{}</b>").format(shown)
        )
        position = match.end()
    return Markup("").join([*parts, escape(plain(text[position:]))])


def _lines_of(name: str, code: list[str]) -> list[int]:
    """Lines of the program in which a name stands as a word."""
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return [number for number, line in enumerate(code, 1) if pattern.search(line)][:6]


def _read_tables(files: Mapping[str, Path], code: list[str]) -> list[dict[str, Any]]:
    """Tables, each row with the lines of the program that use it."""
    read_tables = []
    for number, path in enumerate(one for one in files if one.endswith(".csv")):
        table = tables.read_table(_read_file(files, path)).table
        rows = [
            (f"t{number}r{index}", row, _lines_of(row[0].strip(), code) if row and row[0].strip() else [])
            for index, row in enumerate(table.rows[:MOST_ROWS] if table else ())
        ]
        read_tables.append({"path": path, "head": table.header if table else (), "rows": rows})
    return read_tables


def _objective_moves(verbs: list[Finished]) -> list[tuple[str, str, str]]:
    """Objective after each verb that has one, and how far it is from the best."""
    labels = [(verb.name, verb.result.get("objective"), str(verb.result.get("standing") or "")) for verb in verbs]
    return [(name, rounded(value), standing) for name, value, standing in labels if isinstance(value, int | float)]


def _compare_row_figures(last: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Rows with slack and dual of both versions."""
    rows_before, after = last.get("rows_before", {}), last.get("rows", {})

    def row_lines(pairs: Mapping[str, Any], name: str) -> tuple[str, str]:
        values = pairs.get(name, (None, None))
        slack, dual = ("–" if value is None else rounded(value) for value in values)
        return slack, dual

    return [
        (name, *row_lines(rows_before, name), *row_lines(after, name)) for name in dict.fromkeys([*rows_before, *after])
    ][:400]


def _answered_questions(files: Mapping[str, Path], verbs: list[Finished]) -> list[dict[str, Any]]:
    """Questions with their answers, and whether each citation still holds."""
    questions = []
    for verb in verbs:
        if verb.result["verb"] == "ask":
            answer = verb.result["answer"]
            broken = {str(item.citation) for item in check_citations(answer, files)}
            cited = [(str(item), str(item) not in broken) for item in dict.fromkeys(find_citations(answer))]
            questions.append({"question": verb.result["request"], "answer": answer, "cited": cited})
    return questions
