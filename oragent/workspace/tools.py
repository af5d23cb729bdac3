"""Tools of an agent in a workspace: read, search, write, run, ask what-if questions.

Texts in documents are data: they cannot change a tool or its limits. A wrong call never raises an exception; its answer
is one line that says how to correct it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oragent._base.errors import OragentError, ReplyError, WorkspaceError
from oragent._base.text_format import escape_text as seen
from oragent._base.text_format import hide_addresses
from oragent.llm.model import Tool, ToolCall
from oragent.milp.explanation import explain
from oragent.milp.plain import number, plain, rounded
from oragent.programs.replies import apply_edits
from oragent.workspace import tables
from oragent.workspace.objective import Backing, describe_change, find_change_span
from oragent.workspace.reading import (
    ENCODINGS,
    WORKBOOKS,
    check_new_path,
    decode_text,
    encode_like,
    find_encoding,
    finite_number,
    list_files,
    path_error,
    read_bytes,
    shorten,
    shorten_path,
)
from oragent.workspace.runner import OURS, ProgramRun, ProgramRunner

# Maximum number of tool calls in one task.
CALLS = 40
# Maximum size of one answer.
MOST_LINES, MOST_CHARACTERS = 400, 16_000
MOST_HITS = 40
# Maximum number of characters of one file.
MOST_WRITTEN = 200_000
TEXT = {"type": "string"}


def _define_tool(name: str, description: str, optional: tuple[str, ...] = (), **parameters: Any) -> Tool:
    needed = [key for key in parameters if key not in optional]
    return Tool(name, description, {"type": "object", "properties": parameters, "required": needed})


TOOLS = (
    _define_tool("list_files", "All files with their sizes."),
    _define_tool(
        "read_file",
        "A file with numbered lines; 'lines' such as 20-80 gives a part.",
        ("lines",),
        path=TEXT,
        lines=TEXT,
    ),
    _define_tool("search", "Where a text stands, in all files, upper and lower case alike.", text=TEXT),
    _define_tool(
        "show_table",
        "A CSV table: columns with types, units and missing values, duplicate rows, and its head.",
        path=TEXT,
    ),
    _define_tool("write_file", "Write a whole file, where the task lets you.", path=TEXT, text=TEXT),
    _define_tool(
        "edit",
        "Change a file by SEARCH/REPLACE blocks: <<<<<<< SEARCH, old lines, =======, new lines, >>>>>>> REPLACE.",
        path=TEXT,
        edits=TEXT,
    ),
    _define_tool(
        "run", "Run a Python program; says how it ended, what it printed, and what its models come to.", path=TEXT
    ),
    _define_tool(
        "inspect_solution", "The last run's model: values, rows with slack, what binds and what one unit is worth."
    ),
    _define_tool(
        "whatif",
        "The optimum of the last run's model with another right-hand side of one row.",
        row=TEXT,
        rhs={"type": "number"},
    ),
    _define_tool(
        "submit",
        "End the task; give the path of the program, or the answer to a question.",
        ("path", "answer"),
        path=TEXT,
        answer=TEXT,
    ),
)


@dataclass
class ToolSession:
    """Tool session of an agent in one folder."""

    # Folder that the agent sees.
    folder: Path
    runner: ProgramRunner
    # Subfolders in which the agent may write, such as ``src``. Empty for a question.
    writable: tuple[str, ...] = ()
    # Function that writes files into the folder. None means direct writing.
    write: Callable[[Mapping[str, str]], object] | None = None
    # Number of calls made.
    calls: int = 0
    max_calls: int = CALLS
    # Arguments of ``submit``. None until the agent submits.
    submitted: dict[str, str] | None = None
    last_run: ProgramRun | None = None

    def call_tool(self, call: ToolCall) -> str:
        """Execute a tool call, and return its answer as text in all cases."""
        self.calls += 1
        if self.calls > self.max_calls:
            return f"no call is left of {self.max_calls}: end with submit"
        if call.problem:
            return f"the arguments cannot be read: {call.problem}"
        tools = {tool.name: tool for tool in TOOLS}
        if call.name not in tools:
            return f"there is no tool {shorten(call.name)!r}; there are {', '.join(tools)}"
        schema = tools[call.name].parameters
        # Small models invent arguments for a tool without any.
        if schema["properties"]:
            arguments = call.arguments
        else:
            arguments = {}
        wrong = _argument_flaw(arguments, schema["properties"], schema["required"])
        if wrong:
            return f"{call.name}: {wrong}"
        try:
            return _bound_text(getattr(self, f"_{call.name}")(**arguments))
        except OragentError as problem:
            return f"{call.name}: {problem}"

    def list_files(self) -> dict[str, Path]:
        """Return all files that the agent sees."""
        return {path: file for path, file in list_files(self.folder).items() if path.partition("/")[0] not in OURS}

    def find_file(self, path: str) -> Path:
        """Return an existing file."""
        files = self.list_files()
        clean = path.removeprefix("./")
        if clean not in files:
            raise WorkspaceError(f"no file {shorten_path(path)} here; list_files tells what there is")
        return files[clean]

    def _list_files(self) -> str:
        lines = [f"{path} ({file.stat().st_size} bytes)" for path, file in self.list_files().items()]
        places = ", ".join(f"{folder}/" for folder in self.writable)
        return "\n".join([*lines, f"You may write below: {places or 'nothing'}"])

    def _read_file(self, path: str, lines: str = "") -> str:
        every = self._decode(path).split("\n")
        first, last = _line_span(lines, len(every))
        chosen = every[first - 1 : min(last, first - 1 + MOST_LINES)]
        body = "\n".join(f"{first + index:5} {text}" for index, text in enumerate(chosen))
        remaining = len(every) - (first - 1) - len(chosen)
        if remaining > 0:
            return f"{body}\n({remaining} more lines)"
        return body

    def _search(self, text: str) -> str:
        folded = text.casefold()
        if not folded.strip():
            return "search: the text is empty; give a word or a name"
        hits = []
        for path, file in self.list_files().items():
            try:
                content = decode_text(read_bytes(file), path)
            except WorkspaceError:
                continue
            hits += [
                f"{path}:{number}: {shorten(content_line.strip(), 200)}"
                for number, content_line in enumerate(content.split("\n"), 1)
                if folded in content_line.casefold()
            ]
        if len(hits) > MOST_HITS:
            more = f"\n... {len(hits) - MOST_HITS} more"
        else:
            more = ""
        if hits:
            return "\n".join(hits[:MOST_HITS]) + more
        return f"{shorten(text)!r} stands nowhere"

    def _show_table(self, path: str) -> str:
        content = read_bytes(self.find_file(path))
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
        if len(text) > MOST_WRITTEN:
            return f"write_file: the text has {len(text)} characters; expected at most {MOST_WRITTEN}"
        if path.casefold().endswith(WORKBOOKS):
            return f"write_file: {shorten_path(path)} would be no workbook; write a table as CSV"
        self._write_text(path, text if text.endswith("\n") else f"{text}\n")
        return f"{path} has {text.count(chr(10)) + 1} lines now"

    def _edit(self, path: str, edits: str) -> str:
        path = self._may_write(path)
        if path.casefold().endswith(WORKBOOKS):
            return f"edit: {shorten_path(path)} is a workbook; write a new table as CSV"
        has_returns = b"\r\n" in read_bytes(self.find_file(path))
        try:
            after = apply_edits(edits, self._decode(path))
        except ReplyError as problem:
            return f"edit: {problem}"
        self._write_text(path, after.replace("\n", "\r\n") if has_returns else after)
        return f"{path} is changed"

    def _may_write(self, path: str) -> str:
        clean = check_new_path(path)
        if not any(clean.startswith(f"{folder}/") for folder in self.writable):
            places = ", ".join(f"{folder}/" for folder in self.writable)
            raise path_error(path, f"may not be written; expected a path below {places or 'nothing here'}")
        return clean

    def _write_text(self, path: str, text: str) -> None:
        text = text.encode("utf-8", "replace").decode()
        if self.write is not None:
            self.write({path: text})
            return
        # This call refuses links, so that no path leads out of the folder.
        list_files(self.folder)
        target = self.folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(encode_like(text, read_bytes(target) if target.is_file() else None))
        except OSError as error:
            raise WorkspaceError(f"cannot write {shorten_path(path)}: {error.strerror}") from None

    def _run(self, path: str) -> str:
        self.find_file(path)
        self.last_run = self.runner.run(self.folder, path.removeprefix("./"))
        return describe_run(self.last_run)

    def _inspect_solution(self) -> str:
        if self.last_run:
            model = self.last_run.last_model
        else:
            model = None
        if model is None or model.milp is None or model.solution is None:
            return "inspect_solution: no model was solved; run a program that builds and solves one first"
        values = [f"{plain(name)} = {rounded(value)}" for name, value in model.solution.values.items() if value]
        rows = [
            f"{plain(row.name)}: {row.relation} {number(row.rhs)}, slack {rounded(model.solution.slacks[row.name])}"
            for row in model.milp.rows
            if row.name in model.solution.slacks
        ]
        remarks = [remark.text for remark in explain(model.milp, model.solution, 20.0)]
        lines = ["Values that are not 0:", *values[:200], "Rows:", *rows[:200], "What it means:", *remarks[:100]]
        return "\n".join(lines)

    def _whatif(self, row: str, rhs: float) -> str:
        if self.last_run:
            model = self.last_run.last_model
        else:
            model = None
        value = finite_number(rhs)
        if model is None or model.milp is None:
            return "whatif: no model was solved; run a program that builds and solves one first"
        if value is None:
            return f"whatif: rhs is {shorten(rhs, 20)}; expected a finite number"
        now = model.milp.row(row)
        (solved,) = self.runner.solve_milps(model.milp.with_rhs({row: value}))
        if solved.solution is None:
            return f"whatif: {solved.note}"
        if model.objective is None:
            objective_before = "–"
        else:
            objective_before = rounded(model.objective)
        if solved.objective is None:
            after = "no point"
        else:
            after = rounded(solved.objective)
        span = find_change_span(model.solution, solved.solution)
        if span:
            change = f": {describe_change(model.solution, solved.solution)}"
        else:
            change = ""
        return (
            f"{plain(row)} {now.relation} {number(value)} in place of {number(now.rhs)}: {solved.solution.standing}, "
            f"objective {after} in place of {objective_before}{change}"
        )

    def _submit(self, path: str = "", answer: str = "") -> str:
        if self.writable and path:
            self.find_file(path)
        if self.writable and not path:
            return "submit: give the path of the program"
        if not self.writable and not answer.strip():
            return "submit: give the answer"
        self.submitted = {"path": path.removeprefix("./"), "answer": answer}
        return "done"


def _describe_table(path: str, sheet: str, reading: tables.TableReading, plain_text: str) -> str:
    """Describe columns, flaws and head of a table; ``plain_text`` is empty unless the file is plain CSV in UTF-8."""
    table = reading.table
    if table is None:
        return f"{shorten_path(path)} {reading.flaws[0]}"
    columns = [
        f"- {shorten(column.name)}: {column.kind}, unit {shorten(column.unit) if column.unit else 'none'}, "
        f"{column.missing} missing, "
        f"{column.distinct} distinct"
        for column in tables.describe_columns(table)
    ]
    twice = tables.find_duplicates(table)
    if sheet:
        lines = [f"sheet {shorten(sheet)}"]
    else:
        lines = []
    lines += [f"{len(table.rows)} rows, {len(columns)} columns", *columns]
    if twice:
        lines += [f"rows that repeat an earlier one: {', '.join(str(row + 2) for row in twice)}"]
    else:
        lines += []
    lines += [f"flaw: {flaw}" for flaw in reading.flaws]
    if plain_text:
        return "\n".join([*lines, "", *plain_text.split("\n")[:12]])
    call = f"read_table({path.removeprefix('./')!r}{f', sheet={sheet!r}' if sheet else ''})"
    lines += [f"note: {note}" for note in reading.notes]
    lines.append(f"A program gets these rows as dictionaries by: from oragent.workspace import read_table; {call}")
    return "\n".join([*lines, "", tables.write_table(replace(table, rows=table.rows[:11])).rstrip("\n")])


def describe_run(ran: ProgramRun) -> str:
    """Describe a run: how it ended, its output, its models' results, and whether output and models agree."""
    lines = [f"ended: {ran.stop}, exit code {ran.code}{f', {ran.reason}' if ran.reason else ''}"]
    printed = ran.printed_objective
    if printed.value is None and ran.is_cut_with_plan:
        if ran.reason:
            why = f": {ran.reason}"
        else:
            why = ""
        lines = [f"stopped at the limit of time before the program printed its result{why}"]
        lines.append("the result is the plan that was found when its model was solved again:")
    else:
        lines.append(f"printed objective: {number(printed.value)}" if printed.value is not None else printed.note)
    for model in ran.models[-3:]:
        if model.solution:
            status = model.solution.standing
        else:
            status = shorten(model.note, 200)
        if model.objective is None:
            value = ""
        else:
            value = f", objective {number(model.objective)}"
        if model.milp:
            size = f", {len(model.milp.variables)} variables, {len(model.milp.rows)} rows"
        else:
            size = ""
        lines.append(f"model solved: {status}{value}{size}")
    if printed.value is not None and ran.backing in (Backing.OTHER, Backing.NONE):
        lines.append(f"mark: of the printed objective, {ran.backing}")
    for name, text in (("stdout", ran.stdout), ("stderr", ran.stderr)):
        if text.strip():
            lines += [f"{name}:", hide_addresses(text.strip()[-3000:])]
    return "\n".join(lines)


def _bound_text(text: str) -> str:
    text = seen(text)
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n... {len(text) - MOST_CHARACTERS} more characters: ask for a part"


def _line_span(lines: str, count: int) -> tuple[int, int]:
    if not lines.strip():
        return 1, count
    first, _, last = lines.partition("-")
    if not (first.strip().isdecimal() and (last.strip() or first).strip().isdecimal()) or len(lines) > 20:
        raise WorkspaceError(f"lines is {shorten(lines, 20)!r}; expected such as 20-80")
    low, high = int(first), int(last.strip() or first)
    if not 1 <= low <= high:
        expected = "expected a first line from 1 on and a last one behind it"
        raise WorkspaceError(f"lines is {shorten(lines, 20)!r}; {expected}")
    return low, high


def _argument_flaw(arguments: Mapping[str, Any], properties: Mapping[str, Any], needed: list[str]) -> str:
    for name, value in arguments.items():
        if name not in properties:
            return f"unknown argument {shorten(name, 40)!r}; expected {', '.join(properties) or 'none'}"
        if properties[name] is TEXT and not isinstance(value, str):
            return f"{name} is a {type(value).__name__}; expected a text"
    missing = [name for name in needed if name not in arguments]
    if missing:
        return f"{missing[0]} is missing"
    return ""
