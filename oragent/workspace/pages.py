"""HTML page of a user's workspace; all content is escaped."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from oragent._base.errors import WorkspaceError
from oragent._base.text_format import escape_text
from oragent.ledger.study import FinishedCase
from oragent.milp.decisions import Block, fold_family, group_families, layout_families
from oragent.milp.model import Variable
from oragent.milp.plain import amount, rounded
from oragent.milp.solution import Solution, SolveStatus
from oragent.report.pages.html import make_environment, replace_page
from oragent.workspace import tables
from oragent.workspace.change_requests import list_requests
from oragent.workspace.citations import check_citations, find_citations
from oragent.workspace.folder import WorkspaceFolder, finished_verbs
from oragent.workspace.layout import TABLES
from oragent.workspace.reading import finite_number, read_text
from oragent.workspace.records import CODES, read_current
from oragent.workspace.table_labels import list_table_labels
from oragent.workspace.undoing import list_verbs_in_force
from oragent.workspace.versions import SHORT, Versions

MOST_LINES = 300
# Maximum number of versions whose changes are shown, counted from the latest.
MOST_VERSIONS = 50
MOST_ROWS = 60
# Maximum bytes of a table that is shown.
LARGEST_TABLE = 1 << 20
# Maximum number of rows of the model.
MOST_RECORDED = 400
# Title, table, flaws.
ListedTable = tuple[str, tables.CsvTable | None, tuple[str, ...]]
WRITTEN, TAKEN_BACK = "written", "taken back"
QUOTED = re.compile(r"`([^`\n]{1,80})`")


def write_page(folder: Path) -> Path:
    """Write ``report.html`` into a workspace."""
    return replace_page(folder, render_page(folder))


def render_page(folder: Path) -> str:
    """Return the page as HTML."""
    home = WorkspaceFolder(folder)
    files, verbs = home.list_files(), finished_verbs(folder)
    versions = Versions(folder, readonly=True)
    records = versions.list_versions()
    history = [(version, versions.describe_diff(version.id)) for version in records[-MOST_VERSIONS:]]
    in_force = list_verbs_in_force(versions.list_own())
    program = home.find_program()
    if program:
        code = _read_file(files, program).split("\n")
    else:
        code = []
    listed_tables = _list_tables(files)
    names = _figure_anchors(listed_tables)
    revisions = [verb for verb in verbs if verb.result["verb"] == "revise"]
    written = [verb.result for verb in revisions if describe_state(verb, in_force).startswith(WRITTEN)]
    if written:
        last = written[-1]
    else:
        last = {}
    record = read_current(files)
    return (
        make_environment(Path(__file__).parent)
        .get_template("page.html")
        .render(
            title=folder.resolve().name,
            documents=_link_documents(files, names, code),
            tables=_read_tables(listed_tables, code),
            program=program,
            code="\n".join(code[: MOST_LINES * 2]),
            history=history,
            moves=_objective_moves(verbs, in_force),
            taken_back={
                version.id
                for version in records
                if version.verb and version.verb not in in_force and not version.is_foreign
            },
            rows=_list_row_figures(record),
            questions=_answered_questions(files, verbs, versions.tip),
            requests=list_requests(files),
            differences=last.get("differences", ()),
            data_edits=last.get("data_edits", ()),
            unplanned=last.get("unplanned_edits", ()),
            change=last.get("change", ""),
            decisions=_plan_tables(files, record),
            most=MOST_ROWS,
            conflict=recorded_conflict(record),
            objective=_record_objective(record),
            standing=_record_standing(record, bool(program)),
        )
    )


def _record_objective(record: Mapping[str, Any]) -> str:
    value = finite_number(record.get("objective_value"))
    unit = str(record.get("objective_unit") or "")[:20]
    if value is None:
        return "–"
    return f"{amount(value)}{f' {unit}' if unit else ''}"


def _record_standing(record: Mapping[str, Any], has_program: bool) -> str:
    """Describe the quality of the recorded plan; without a current record, describe how to get one."""
    if not has_program:
        return "no program yet"
    if not record:
        return "not run, or code or data have changed since: 'oragent workspace run'"
    statuses = {code: status for status, code in CODES.items()}
    status = statuses.get(record.get("status_code", 0), SolveStatus.UNKNOWN)
    value, bound, gap = (finite_number(record.get(key)) for key in ("objective_value", "objective_bound", "mip_gap"))
    return Solution(status, value, bound, gap).standing


def recorded_conflict(record: Mapping[str, Any]) -> list[str]:
    """Return the conflicting constraints of a record as lines; without them, describe how to compute them."""
    if record.get("status_code") != CODES[SolveStatus.INFEASIBLE]:
        return []
    lines = record.get("conflict")
    if isinstance(lines, list):
        texts = [text.removeprefix("- ") for text in lines if isinstance(text, str)]
    else:
        texts = []
    return texts or ["The record does not say what conflicts: 'oragent workspace run' records it."]


def _plan_tables(files: Mapping[str, Path], record: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return the decisions of a record as tables by index, with the labels of the data."""
    columns = record.get("variables")
    if not isinstance(columns, dict):
        return ()
    numbers = {name: finite_number(column.get("value")) for name, column in columns.items()}
    values = {name: number for name, number in numbers.items() if number is not None}
    # An infeasible model has no values.
    if not values:
        return ()
    indexed = record.get("indexed_names")
    if isinstance(indexed, dict) and all(isinstance(name, str) for name in indexed.values()):
        values = {indexed.get(name, name): value for name, value in values.items()}
        columns = {indexed.get(name, name): column for name, column in columns.items()}
    variables = [Variable(name, unit=str(columns[name].get("unit") or "")) for name in values]
    labels = list_table_labels(files)
    return layout_families(tuple(map(fold_family, group_families(variables, values, labels))), pivots=True)


def _read_file(files: Mapping[str, Path], path: str) -> str:
    try:
        if path in files:
            return read_text(files[path]).replace("\r\n", "\n")
        return ""
    except WorkspaceError as problem:
        return f"({problem})"


def _list_tables(files: Mapping[str, Path]) -> list[ListedTable]:
    """Return the tables of CSV files and of all workbook sheets, each with its path and, if needed, its sheet."""
    listed: list[ListedTable] = []
    for path in files:
        if path.startswith("data/") and path.casefold().endswith(TABLES):
            size = files[path].stat().st_size
            if size > LARGEST_TABLE:
                listed.append((f"{path} ({size:,} bytes: not shown)", None, ()))
                continue
            try:
                sheets = tables.read_sheets(read_text(files[path]))
            except WorkspaceError as problem:
                listed.append((f"{path} ({problem})", None, ()))
                continue
            for title, reading in sheets.items():
                if len(sheets) > 1:
                    name = f"{path}, sheet {title}"
                else:
                    name = path
                listed.append((name, reading.table, reading.flaws))
    return listed


def _figure_anchors(listed_tables: Sequence[ListedTable]) -> dict[str, str]:
    """Map the first cells of tables to their anchors on the page, so that documents can link to them."""
    anchors: dict[str, str] = {}
    for number, (_, table, _flaws) in enumerate(listed_tables):
        for index, row in enumerate(table.rows[:MOST_ROWS] if table else ()):
            if row and row[0].strip():
                anchors.setdefault(row[0].strip(), f"t{number}r{index}")
    return anchors


def _link_documents(files: Mapping[str, Path], names: Mapping[str, str], code: list[str]) -> list[tuple[str, Markup]]:
    """Return documents in which names in backquotes link to the cells and program lines where they occur."""
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
        parts.append(escape(escape_text(text[position : match.start()])))
        if name in names:
            target = f"#{names[name]}"
        elif used:
            target = f"#l{used[0]}"
        else:
            target = ""
        form = Markup('<a href="{0}">{1}</a>' if target else "<b>{1}</b>")
        parts.append(form.format(target, escape(escape_text(name))))
        position = match.end()
    return Markup("").join([*parts, escape(escape_text(text[position:]))])


def _lines_of(name: str, code: list[str]) -> list[int]:
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return [number for number, line in enumerate(code, 1) if pattern.search(line)][:6]


def _read_tables(listed_tables: Sequence[ListedTable], code: list[str]) -> list[dict[str, Any]]:
    shown = []
    for number, (title, table, flaws) in enumerate(listed_tables):
        rows = [
            (f"t{number}r{index}", row, _lines_of(row[0].strip(), code) if row and row[0].strip() else [])
            for index, row in enumerate(table.rows[:MOST_ROWS] if table else ())
        ]
        shown.append({"path": title, "head": table.header if table else (), "rows": rows, "flaws": flaws})
    return shown


def describe_state(verb: FinishedCase, in_force: Collection[str]) -> str:
    """Describe whether the changes of a verb are in the present files; empty for a question, which changes nothing."""
    if verb.result["verb"] == "ask":
        return ""
    if not verb.result.get("written"):
        return "not written"
    if verb.name in in_force:
        return f"{WRITTEN}{describe_unplanned(verb.result)}"
    return TAKEN_BACK


def describe_unplanned(result: Mapping[str, Any]) -> str:
    """Count the data edits of a revision that are not in its plan; empty for zero."""
    count = len(result.get("unplanned_edits", ()))
    if count:
        return f" ({count} edit{'' if count == 1 else 's'} of data not in the plan)"
    return ""


def _objective_moves(verbs: list[FinishedCase], in_force: Collection[str]) -> list[tuple[str, str, str, str]]:
    """Return, for each verb with an objective, the objective, its gap, and whether its changes are in the files."""
    return [
        (verb.name, rounded(value), str(verb.result.get("standing") or ""), describe_state(verb, in_force))
        for verb in verbs
        if isinstance(value := verb.result.get("objective"), int | float)
    ]


def _list_row_figures(record: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows of a record with slack and dual."""
    constraints = record.get("constraints")
    rows = constraints if isinstance(constraints, dict) else {}
    figures = [(name, row.get("slack"), row.get("dual_value")) for name, row in list(rows.items())[:MOST_RECORDED]]
    return [(name, *("–" if one is None else rounded(one) for one in values)) for name, *values in figures]


def _answered_questions(files: Mapping[str, Path], verbs: list[FinishedCase], tip: str) -> list[dict[str, Any]]:
    """Return questions with their answers and versions, and state whether each citation still holds."""
    questions = []
    for verb in verbs:
        if verb.result["verb"] == "ask":
            answer = verb.result["answer"]
            broken = {str(item.citation) for item in check_citations(answer, files)}
            cited = [(str(item), str(item) not in broken) for item in dict.fromkeys(find_citations(answer))]
            blocks = list(_split_answer(answer))
            revision = str(verb.result.get("revision") or "")
            entry = {"question": verb.result["request"], "blocks": blocks, "cited": cited}
            questions.append(entry | {"revision": revision[:SHORT], "is_current": revision == tip})
    return questions


def _split_answer(answer: str) -> Iterator[tuple[bool, str]]:
    """Split an answer into parts; a part is True for a table or code, and its text without fences."""
    lines: list[str] = []
    is_table = is_fenced = False
    for line in [*answer.rstrip().split("\n"), None]:
        is_fence = line is not None and line.lstrip().startswith("```")
        is_next = line is not None and (line.lstrip().startswith("|") or is_fenced)
        if lines and (line is None or is_fence or is_next != is_table):
            yield is_table, "\n".join(lines).strip("\n")
            lines = []
        is_fenced ^= is_fence
        if line is not None and not is_fence:
            is_table = is_next
            lines.append(line)
