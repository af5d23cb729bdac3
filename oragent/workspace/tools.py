"""Tools of an agent in a workspace.

They read, search, write, change cells, run the program, evaluate operations, ask the person and submit.

Text in documents is data: it cannot change a tool or its limits. A wrong call raises no exception; its answer is one
line that says how to correct it.
"""

import fnmatch
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from oragent._base.errors import OragentError, ReplyError, TableError, WorkspaceError
from oragent._base.figures_in_text import find_figures
from oragent._base.text_format import escape_text as seen
from oragent._base.text_format import hide_addresses
from oragent.llm.model import Tool, ToolCall
from oragent.modelling.data.display import number
from oragent.modelling.operations import ModelSession, SolveLimits
from oragent.modelling.references.answer_text import find_problems, make_answer, plain_answer
from oragent.modelling.references.brief_results import brief_result
from oragent.programs.replies import apply_edits
from oragent.workspace import tables
from oragent.workspace.cells import (
    CellChange,
    CellReference,
    change_cells,
    is_cell_change,
    locate_cell,
    read_cell,
    read_change,
)
from oragent.workspace.citations import FORM as CITATION
from oragent.workspace.citations import CitedLine, find_citations, resolve_citation
from oragent.workspace.data_changes import FIGURES
from oragent.workspace.data_edits import DATABASES, read_text_tables
from oragent.workspace.folder import add_parameters
from oragent.workspace.reading import (
    ENCODINGS,
    WORKBOOKS,
    check_new_path,
    decode_text,
    encode_like,
    find_encoding,
    list_files,
    path_error,
    read_bytes,
    shorten,
    shorten_path,
)
from oragent.workspace.runner import OURS, ProgramRun, ProgramRunner
from oragent.workspace.workbook_edits import refuse_linked

# Maximum number of tool calls in one task.
CALLS = 40
# Maximum size of one answer.
MAX_LINES, MAX_CHARACTERS = 400, 16_000
MAX_HITS = 40
# Maximum number of characters of one file.
MAX_WRITTEN = 200_000
# Maximum bytes of a file that is searched.
MAX_SEARCHED = 4 << 20
TABLES_ONLY = (*DATABASES, ".parquet")
BINARY = (*WORKBOOKS, *TABLES_ONLY)
# Maximum number of rows of a table that are shown at once.
MAX_ROWS = 200
PROMPTS = Path(__file__).parent / "prompts"
# First private character of Unicode.
PRIVATE = 0xE000
NUMBER_IN_TEXT = re.compile(r"\d+(?:[.,]\d+)*")

# Arguments of the tools, all of them texts; a question mark marks those that may be left out.
ARGUMENTS = {
    "list_files": "",
    "read_file": "path lines?",
    "search": "text",
    "show_table": "path",
    "write_file": "path text",
    "edit": "path edits",
    "delete_file": "path",
    "run": "path",
    "query": "line",
    "submit": "path? answer?",
    "ask_person": "question",
    "write_parameters": "name value source unit? meaning?",
    "set_cell": "cell value",
}


def _define_tools() -> Iterator[Tool]:
    """Yield the tools with their descriptions in ``prompts/tools.txt``."""
    lines = (PROMPTS / "tools.txt").read_text(encoding="utf-8").splitlines()
    descriptions = dict(line.split(": ", 1) for line in lines)
    for name, arguments in ARGUMENTS.items():
        words = arguments.split()
        properties = {word.rstrip("?"): {"type": "string"} for word in words}
        needed = [word for word in words if not word.endswith("?")]
        yield Tool(name, descriptions[name], {"type": "object", "properties": properties, "required": needed})


# Tools of a task of the benchmark, and further ones of the verbs.
*TOOLS, ASK_PERSON, WRITE_PARAMETERS, SET_CELL = _define_tools()


@dataclass(frozen=True)
class SubmissionFindings:
    """Result of the checks of a submitted program."""

    # Failures that prevent the submission.
    errors: tuple[str, ...] = ()
    # Failures that are reported once. A second submission is accepted, and the person decides.
    warnings: tuple[str, ...] = ()


@dataclass
class ToolSession:
    """Calls of tools by an agent in one folder."""

    # Folder that the agent sees.
    folder: Path
    runner: ProgramRunner
    # Patterns of the files that the agent may write, such as ``src/*``. Empty for a question.
    writable: tuple[str, ...] = ()
    tools: Sequence[Tool] = tuple(TOOLS)
    # Checks of a submitted program. None means that each submission ends the task.
    check: Callable[[str], SubmissionFindings] | None = None
    # Program of the workspace, which ``query`` runs if no program ran before. Empty if it has none.
    program: str = ""
    # Answers of the person so far, in order.
    person_answers: Sequence[str] = ()
    # Number of calls made.
    calls: int = 0
    max_calls: int = CALLS
    # Arguments of ``submit``. None until the agent submits.
    submitted: dict[str, str] | None = None
    # Question to the person that has no answer yet.
    question: str = ""
    last_run: ProgramRun | None = None
    _model_session: ModelSession | None = field(default=None, repr=False)
    _last_program: str = ""
    _asked: int = 0
    _reported: set[str] = field(default_factory=set)
    _errors: tuple[str, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Return True if the agent submitted, waits for the person, or has no calls left."""
        return self.submitted is not None or bool(self.question) or self.calls > self.max_calls

    def call_tool(self, call: ToolCall) -> str:
        """Execute a tool call and return its answer as text, also for a wrong call."""
        self.calls += 1
        if self.calls > self.max_calls:
            return f"no call is left of {self.max_calls}: end with submit"
        if call.problem:
            return f"the arguments cannot be read: {call.problem}"
        tools = {tool.name: tool for tool in self.tools}
        if call.name not in tools:
            return f"there is no tool {shorten(call.name)!r}; there are {', '.join(tools)}"
        schema = tools[call.name].parameters
        # Small models invent arguments for a tool without any.
        arguments = call.arguments if schema["properties"] else {}
        wrong = _argument_flaw(arguments, schema["properties"], schema["required"])
        if wrong:
            return f"{call.name}: {wrong}"
        try:
            return _bound_text(getattr(self, f"_{call.name}")(**arguments))
        except OragentError as problem:
            return f"{call.name}: {problem}"
        except (OSError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError) as problem:
            # An unexpected failure of a tool must not end a task whose model calls were paid for.
            return f"{call.name}: it failed on these files ({type(problem).__name__}); try it in another way"

    def list_files(self) -> dict[str, Path]:
        """Return all files that the agent sees."""
        return {path: file for path, file in list_files(self.folder).items() if path.partition("/")[0] not in OURS}

    def find_file(self, path: str) -> Path:
        """Return an existing file."""
        files = self.list_files()
        clean = path.removeprefix("./")
        if clean not in files:
            raise WorkspaceError(f"no file {shorten_path(path)}; list_files shows the files")
        return files[clean]

    def _list_files(self) -> str:
        lines = [f"{path} ({file.stat().st_size} bytes)" for path, file in self.list_files().items()]
        return "\n".join([*lines, f"You may write: {', '.join(self.writable) or 'nothing'}"])

    def _read_file(self, path: str, lines: str = "") -> str:
        if path.casefold().endswith(TABLES_ONLY):
            return self._show_table(path, lines)
        every = self._decode(path).split("\n")
        first, last = _line_span(lines, len(every))
        chosen = every[first - 1 : min(last, first - 1 + MAX_LINES)]
        body = "\n".join(f"{first + index:5} {text}" for index, text in enumerate(chosen))
        remaining = len(every) - (first - 1) - len(chosen)
        if remaining > 0:
            return f"{body}\n({remaining} more lines)"
        return body

    def _search(self, text: str) -> str:
        folded = text.casefold()
        if not folded.strip():
            return "search: the text is empty; give a word or a name"
        hits, large = [], []
        for path, file in self.list_files().items():
            if file.stat().st_size > MAX_SEARCHED:
                large.append(path)
                continue
            try:
                content = searchable_text(path, read_bytes(file))
            except (WorkspaceError, TableError):
                continue
            hits += [
                f"{path}:{number}: {shorten(content_line.strip(), 200)}"
                for number, content_line in enumerate(content.split("\n"), 1)
                if folded in content_line.casefold()
            ]
        lines = hits[:MAX_HITS] or [f"{shorten(text)!r} stands nowhere"]
        if len(hits) > MAX_HITS:
            lines.append(f"... {len(hits) - MAX_HITS} more")
        lines += [f"not searched, as it is large: {path}" for path in large]
        return "\n".join(lines)

    def _show_table(self, path: str, rows: str = "") -> str:
        content = read_bytes(self.find_file(path))
        if path.casefold().endswith(TABLES_ONLY):
            return "\n\n".join(
                _describe_table(path, title, tables.TableReading(table, ()), "", rows)
                for title, table in (read_text_tables(path, content) or {}).items()
            )
        text = decode_text(content, path)
        is_utf8 = not path.casefold().endswith(WORKBOOKS) and ENCODINGS[find_encoding(content, path)] == "UTF-8"
        return "\n\n".join(
            _describe_table(path, title, reading, text if is_utf8 and not reading.notes else "")
            for title, reading in tables.read_sheets(text).items()
        )

    def _decode(self, path: str) -> str:
        return decode_text(read_bytes(self.find_file(path)), path).replace("\r\n", "\n")

    def _write_file(self, path: str, text: str) -> str:
        path = self._may_write(path)
        if "\0" in text:
            return "write_file: the text holds zero bytes; expected plain text"
        if len(text) > MAX_WRITTEN:
            return f"write_file: the text has {len(text)} characters; expected at most {MAX_WRITTEN}"
        if path.casefold().endswith(BINARY):
            return f"write_file: {shorten_path(path)} is no text; change cells with set_cell, or write CSV"
        lines = text.removesuffix("\n").split("\n")
        self._write_text(path, "\n".join([*lines, ""]))
        return f"{path} has {len(lines)} lines now"

    def _edit(self, path: str, edits: str) -> str:
        path = self._may_write(path)
        if path.casefold().endswith(BINARY):
            return f"edit: {shorten_path(path)} is no text; change cells with set_cell"
        has_returns = b"\r\n" in read_bytes(self.find_file(path))
        try:
            after = apply_edits(edits, self._decode(path))
        except ReplyError as problem:
            return f"edit: {problem}"
        self._write_text(path, after.replace("\n", "\r\n") if has_returns else after)
        return f"{path} is changed"

    def _delete_file(self, path: str) -> str:
        path = self._may_write(path)
        self.find_file(path).unlink()
        return f"{path} is deleted"

    def _set_cell(self, cell: str, value: str) -> str:
        reference = read_cell(cell)
        path = self._may_write(reference.path)
        content = read_bytes(self.find_file(path))
        refuse_linked(path, self.list_files())
        source = _find_source(path, content, reference)
        if source is not None:
            problem = self._check_source(source, value)
            if problem:
                return f"set_cell: {problem}; give write_parameters the new figure with its source"
        changed = change_cells(content, path, [CellChange(reference, value.strip())], keep_formulas=True)
        self._write_bytes(path, changed)
        return f"{reference} is {value.strip()} now"

    def _write_parameters(self, name: str, value: str, source: str, unit: str = "", meaning: str = "") -> str:
        citations = find_citations(source)
        if len(citations) != 1 or not isinstance(citations[0], CitedLine):
            return 'write_parameters: source is no citation of a line; expected such as [docs/file.md:12 "words"]'
        if tables.parse_number(value) is None or not name.strip():
            return f"write_parameters: {shorten(value, 40)!r} is no number such as 12.5"
        problem = self._check_source(citations[0], value)
        if problem:
            return f"write_parameters: {problem}"
        files = self.list_files()
        old = read_bytes(files[FIGURES]) if FIGURES in files else b""
        cited_line = f"[{citations[0].path}:{citations[0].line}]"
        entry = {"name": name, "value": value, "unit": unit, "meaning": f"{meaning} {cited_line}".strip()}
        text = decode_text(old, FIGURES)
        after = encode_like(add_parameters(text, [entry]), old)
        columns = _parameter_columns(after)
        if old and after == old:
            after = _change_parameter(old, entry)
            if after == old:
                return f"write_parameters: {FIGURES} has {shorten(name)} = {value} from this line already"
        self._write_bytes(FIGURES, after)
        return f"{FIGURES} has {shorten(name)} = {value} now; its columns are {', '.join(columns)}"

    def _check_source(self, citation: CitedLine, value: str) -> str:
        """Return why a cited line does not state a number; empty if it does."""
        resolved = resolve_citation(citation, self.list_files())
        if resolved.reason:
            return str(resolved)
        number = tables.parse_number(value)
        stated = find_figures(resolved.value or "")
        if number is not None and not any(math.isclose(abs(number), figure) for figure in stated):
            return f"line {citation.line} of {citation.path} does not state {value}"
        return ""

    def _may_write(self, path: str) -> str:
        clean = check_new_path(path)
        if not any(fnmatch.fnmatch(clean, pattern) for pattern in self.writable):
            expected = f"expected a path such as {', '.join(self.writable)}" if self.writable else "nothing here may be"
            raise path_error(path, f"may not be written; {expected}")
        return clean

    def _write_text(self, path: str, text: str) -> None:
        target = self.folder / path
        text = text.encode("utf-8", "replace").decode()
        self._write_bytes(path, encode_like(text, read_bytes(target) if target.is_file() else None))

    def _write_bytes(self, path: str, content: bytes) -> None:
        # This call refuses links, so that no path leaves the folder.
        list_files(self.folder)
        target = self.folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError as error:
            raise WorkspaceError(f"cannot write {shorten_path(path)}: {error.strerror}") from None

    def _run(self, path: str) -> str:
        self.find_file(path)
        self._last_program = path.removeprefix("./")
        self.last_run, self._model_session = self.runner.run(self.folder, self._last_program), None
        return describe_run(self.last_run)

    def _query(self, line: str) -> str:
        if is_cell_change(line):
            return self._try_cells(line)
        session = self._open_model()
        if session is None:
            return "query: no model was captured; run a program that builds and solves one first"
        return brief_result(session.ask(line), MAX_CHARACTERS)

    def _try_cells(self, line: str) -> str:
        """Run the program of the last run, or that of the workspace, with other values in cells; nothing is written."""
        program = self._last_program or self.program
        if not program:
            return "query: run a program first"
        changes: dict[str, list[CellChange]] = {}
        for part in line.split(";"):
            change = read_change(part)
            changes.setdefault(change.cell.path.removeprefix("./"), []).append(change)
        contents: dict[str, str | bytes] = {
            path: change_cells(read_bytes(self.find_file(path)), path, listed) for path, listed in changes.items()
        }
        before = self.last_run or self.runner.run(self.folder, program)
        ran = self.runner.run(self.folder, program, contents)
        objective = "none" if before.objective is None else number(before.objective)
        return f"{describe_run(ran)}\nbefore the change: objective {objective}"

    def _open_model(self) -> ModelSession | None:
        """Return the operations on the model of the last run; without a run, run the workspace's program."""
        if self.last_run is None and self.program:
            self._run(self.program)
        last = self.last_run.last_model if self.last_run else None
        if self._model_session is None and last is not None and last.milp is not None:
            self._model_session = ModelSession(last.milp, SolveLimits(seconds=self.runner.limits.cpu_s))
        return self._model_session

    def fill_answer(self, answer: str, question: str) -> str:
        """Replace references by figures of results, and mark figures that neither results nor citations contain.

        Figures of the question and of cited places that hold are supported.
        """
        session = self._open_model() if NUMBER_IN_TEXT.search(answer) else self._model_session
        if session is None:
            return answer
        files = self.list_files()
        resolved = [resolve_citation(citation, files) for citation in find_citations(answer)]
        cited = [f"{entry.citation} {entry.value}" for entry in resolved if not entry.reason]
        # Private characters stand for the citations, so that no part of them is marked.
        citations = [match[0] for match in CITATION.finditer(answer)]
        numbers = iter(range(len(citations)))
        text = CITATION.sub(lambda match: chr(PRIVATE + next(numbers)), answer)
        filled = plain_answer(make_answer(text, session.results, session.model, [question, *cited]))
        return "".join(
            citations[ord(letter) - PRIVATE] if 0 <= ord(letter) - PRIVATE < len(citations) else letter
            for letter in filled
        )

    def _find_problems(self, answer: str) -> tuple[str, ...]:
        """Return the references of an answer that cannot be filled."""
        session = self._model_session
        return tuple(find_problems(answer, session.results, session.model)) if session else ()

    def _ask_person(self, question: str) -> str:
        if self._asked < len(self.person_answers):
            self._asked += 1
            return f"the person answers: {self.person_answers[self._asked - 1]}"
        self.question = shorten(question, 1000).strip()
        if self.question:
            return "the person is asked"
        return "ask_person: the question is empty"

    def _submit(self, path: str = "", answer: str = "") -> str:
        if self.writable and not path:
            return "submit: give the path of the program"
        if not self.writable and not answer.strip():
            return "submit: give the answer"
        problems = self._find_problems(answer)
        if problems and self.calls < self.max_calls and problems != self._errors:
            self._errors = problems
            return "\n".join(["not submitted:", *(f"- {text}" for text in problems)])
        clean = path.removeprefix("./")
        if self.writable:
            self.find_file(path)
            findings = self.check(clean) if self.check else SubmissionFindings()
            new = [text for text in findings.warnings if text not in self._reported]
            # If the agent submits the same errors again, it cannot correct them, and the verb writes nothing.
            is_stuck = findings.errors == self._errors
            self._errors = findings.errors
            if (findings.errors and not is_stuck) or (new and self.calls < self.max_calls):
                self._reported |= set(new)
                messages = [f"- {text}" for text in (*findings.errors, *new)]
                if new and not findings.errors:
                    messages.append("Mend this, or submit again to leave it to the person.")
                return "\n".join(["not submitted:", *messages])
        self.submitted = {"path": clean, "answer": answer}
        return "done"


def searchable_text(path: str, content: bytes) -> str:
    """Return the text of a file; of a database, the cells of each header and row behind the name of the table."""
    if not path.casefold().endswith(TABLES_ONLY):
        return decode_text(content, path)
    by_title = read_text_tables(path, content) or {}
    return "\n".join(
        ", ".join((title, *row)) for title, table in by_title.items() for row in (table.header, *table.rows)
    )


def _find_source(path: str, content: bytes, cell: CellReference) -> CitedLine | None:
    """Return the source that the table of parameters names for a figure; None for other cells and for no source."""
    if path != FIGURES or cell.column.strip().casefold() != "value":
        return None
    column = _parameter_titles(content).get(tables.PARAMETERS_HEADER[3])
    if column is None:
        return None
    meaning = locate_cell(content, replace(cell, column=column)).text
    return next((citation for citation in find_citations(meaning) if isinstance(citation, CitedLine)), None)


def _parameter_columns(content: bytes) -> Sequence[str]:
    table = tables.read_table(decode_text(content, FIGURES)).table
    return table.header if table else tables.PARAMETERS_HEADER


def _parameter_titles(content: bytes) -> dict[str, str]:
    """Return the titles of the table of parameters by those of ``PARAMETERS_HEADER``, whatever their case."""
    titles = {title.strip().casefold(): title for title in _parameter_columns(content)}
    return {name: titles[name.casefold()] for name in tables.PARAMETERS_HEADER if name.casefold() in titles}


def _change_parameter(content: bytes, entry: Mapping[str, str]) -> bytes:
    """Return the table of parameters with other cells of a figure that it has already; empty ones stay."""
    # A table without a column for values is refused.
    titles = {"Value": "Value"} | _parameter_titles(content)
    cells = dict(zip(tables.PARAMETERS_HEADER[1:], (entry["value"], entry["unit"], entry["meaning"]), strict=True))
    name = (entry["name"].strip(),)
    changes = [
        CellChange(CellReference(FIGURES, "", name, titles[column]), text)
        for column, text in cells.items()
        if text and column in titles
    ]
    return change_cells(content, FIGURES, changes)


def _list_gaps(table: tables.CsvTable) -> Iterator[str]:
    """Describe empty cells by column, and labels of the first column that occur several times."""
    for column, head in enumerate(table.header):
        empty = [at for at, row in enumerate(table.rows, 1) if column < len(row) and tables.is_missing(row[column])]
        if empty:
            rows = ", ".join(map(str, empty[:5]))
            yield f"column {shorten(head.strip())}: {len(empty)} empty cells, in row {rows}"
    labels = Counter(row[0].strip() for row in table.rows if row)
    repeated = [label for label, count in labels.items() if count > 1]
    # A first column that mostly repeats is no column of identifiers.
    if repeated and 2 * len(repeated) <= len(labels):
        shown = ", ".join(shorten(label, 40) for label in repeated[:5])
        yield f"{shorten(table.header[0].strip())} occurs in several rows for {shown}"


def _describe_table(path: str, sheet: str, reading: tables.TableReading, plain_text: str, rows: str = "") -> str:
    """Describe size, flaws, gaps and rows of a table.

    ``plain_text`` is empty unless the file is plain CSV in UTF-8. ``rows`` names a part such as 20-80.
    """
    table = reading.table
    if table is None:
        return f"{shorten_path(path)} {reading.flaws[0]}"
    lines = [f"sheet {shorten(sheet)}"] if sheet else []
    lines.append(f"{len(table.rows)} rows, {len(table.header)} columns")
    repeated = len(table.rows) - len(set(table.rows))
    lines += [f"{repeated} rows repeat an earlier one"] if repeated else []
    lines += [f"flaw: {flaw}" for flaw in reading.flaws]
    lines += [f"note: {gap}" for gap in _list_gaps(table)]
    first, last = _line_span(rows, len(table.rows))
    last = min(last, first - 1 + MAX_ROWS)
    remaining = len(table.rows) - last
    more = [f"({remaining} more rows: read_file with lines)"] if remaining > 0 else []
    if plain_text:
        return "\n".join([*lines, "", *plain_text.rstrip("\n").split("\n")[: last + 1], *more])
    lines += [f"note: {note}" for note in reading.notes]
    if not path.casefold().endswith(TABLES_ONLY):
        call = f"read_table({path.removeprefix('./')!r}{f', sheet={sheet!r}' if sheet else ''})"
        lines.append(f"A program gets these rows as dictionaries by: from oragent.workspace import read_table; {call}")
    shown = tables.write_table(replace(table, rows=table.rows[first - 1 : last]))
    return "\n".join([*lines, "", shown.rstrip("\n"), *more])


def describe_run(ran: ProgramRun) -> str:
    """Describe how a run ended, the results of its models, and its output."""
    lines = [f"ended: {ran.stop}, exit code {ran.code}{f', {ran.reason}' if ran.reason else ''}"]
    if ran.is_cut_with_plan:
        lines = [f"stopped at the limit of time{f': {ran.reason}' if ran.reason else ''}"]
        lines.append("the result is the plan that was found when its model was solved again:")
    for model in ran.models[-3:]:
        status = model.solution.standing if model.solution else shorten(model.note, 200)
        value = "" if model.objective is None else f", objective {number(model.objective)}"
        size = f", {model.milp.shape[1]} variables, {model.milp.shape[0]} rows" if model.milp else ""
        lines.append(f"model solved: {status}{value}{size}")
    for name, text in (("stdout", ran.stdout), ("stderr", ran.stderr)):
        if text.strip():
            lines += [f"{name}:", hide_addresses(text.strip()[-3000:])]
    return "\n".join(lines)


def _bound_text(text: str) -> str:
    text = seen(text)
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}\n... {len(text) - MAX_CHARACTERS} more characters: ask for a part"


def _line_span(lines: str, count: int) -> tuple[int, int]:
    if not lines.strip():
        return 1, count
    match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", lines)
    if match:
        low, high = int(match[1]), int(match[2] or match[1])
        if 1 <= low <= high:
            return low, high
    raise WorkspaceError(f"lines is {shorten(lines, 20)!r}; expected such as 20-80, counted from 1")


def _argument_flaw(arguments: Mapping[str, Any], properties: Mapping[str, Any], needed: list[str]) -> str:
    for name, value in arguments.items():
        if name not in properties:
            return f"unknown argument {shorten(name, 40)!r}; expected {', '.join(properties) or 'none'}"
        if not isinstance(value, str):
            return f"{name} is a {type(value).__name__}; expected a text"
    missing = [name for name in needed if name not in arguments]
    if missing:
        return f"{missing[0]} is missing"
    return ""
