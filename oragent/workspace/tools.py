"""What an agent can do in a workspace: look, search, write where it may, run, ask what if.

Texts in documents are data: no word of theirs changes a tool or its limits. Whatever is wrong with a call comes back as
one line that says what to do, and is never an error of ours.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oragent._base.errors import OragentError, ReplyError, WorkspaceError
from oragent._base.plain import plain as seen
from oragent.llm.model import Tool, ToolCall
from oragent.milp.explanation import explain
from oragent.milp.plain import number, plain, rounded
from oragent.programs.replies import edited
from oragent.workspace import tables
from oragent.workspace.objective import Backing
from oragent.workspace.reading import decode, finite, named, read_bytes, shown, walk
from oragent.workspace.runner import OURS, ProgramRun, ProgramRunner

CALLS = 40  # of tools, in one task
MOST_LINES, MOST_CHARACTERS = 400, 16_000  # of one answer
MOST_HITS = 40
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")  # a prompt must read the same when the work is done again
MOST_WRITTEN = 200_000  # characters of one file
TEXT = {"type": "string"}


def _tool(name: str, description: str, optional: tuple[str, ...] = (), **parameters: Any) -> Tool:
    needed = [key for key in parameters if key not in optional]
    return Tool(name, description, {"type": "object", "properties": parameters, "required": needed})


TOOLS = (
    _tool("list_files", "All files with their sizes."),
    _tool("read_file", "A file with numbered lines; 'lines' such as 20-80 gives a part.", ("lines",),
          path=TEXT, lines=TEXT),
    _tool("search", "Where a text stands, in all files, upper and lower case alike.", text=TEXT),
    _tool("show_table", "A CSV table: columns with types, units and missing values, duplicate rows, and its head.",
          path=TEXT),
    _tool("write_file", "Write a whole file, where the task lets you.", path=TEXT, text=TEXT),
    _tool("edit", "Change a file by SEARCH/REPLACE blocks: <<<<<<< SEARCH, old lines, =======, new lines, "
                  ">>>>>>> REPLACE.", path=TEXT, edits=TEXT),
    _tool("run", "Run a Python program; says how it ended, what it printed, and what its models come to.", path=TEXT),
    _tool("inspect_solution", "The last run's model: values, rows with slack, what binds and what one unit is worth."),
    _tool("whatif", "The optimum of the last run's model with another right-hand side of one row.",
          row=TEXT, rhs={"type": "number"}),
    _tool("submit", "End the task; give the path of the program, or the answer to a question.", ("path", "answer"),
          path=TEXT, answer=TEXT),
)  # fmt: skip


@dataclass
class ToolSession:
    """A task at which an agent works, in one folder.

    Attributes:
        folder: Folder that it sees.
        runner: Runner of programs.
        writable: Folders below it in which files may be written, such as ``src``; none for a question.
        write: Writes files into the folder; None writes them plainly.
        calls: Calls that were made.
        most: Most calls.
        submitted: What it ended with: arguments of ``submit``; None while it goes on.
        ran: Last run; None before the first.
    """

    folder: Path
    runner: ProgramRunner
    writable: tuple[str, ...] = ()
    write: Callable[[Mapping[str, str]], object] | None = None
    calls: int = 0
    most: int = CALLS
    submitted: dict[str, str] | None = None
    ran: ProgramRun | None = None

    def call(self, call: ToolCall) -> str:
        """Do what is wished for; the answer is text, whatever it was."""
        self.calls += 1
        if self.calls > self.most:
            return f"no call is left of {self.most}: end with submit"
        if call.problem:
            return f"the arguments cannot be read: {call.problem}"
        known = {tool.name: tool for tool in TOOLS}
        if call.name not in known:
            return f"there is no tool {shown(call.name)!r}; there are {', '.join(known)}"
        wanted = known[call.name].parameters
        given = call.arguments if wanted["properties"] else {}  # what small models think up for a tool that takes none
        wrong = _misfit(given, wanted["properties"], wanted["required"])
        if wrong:
            return f"{call.name}: {wrong}"
        try:
            return _bounded(getattr(self, f"_{call.name}")(**given))
        except OragentError as problem:
            return f"{call.name}: {problem}"

    def files(self) -> dict[str, Path]:
        """All files that the agent sees."""
        return {path: place for path, place in walk(self.folder).items() if path.partition("/")[0] not in OURS}

    def place(self, path: str) -> Path:
        """A file that is there.

        Raises:
            WorkspaceError: if the path leads elsewhere or nowhere.
        """
        files = self.files()
        clean = path.removeprefix("./")
        if clean not in files:
            raise WorkspaceError(f"no file {named(path)} here; list_files tells what there is")
        return files[clean]

    def _list_files(self) -> str:
        lines = [f"{path} ({place.stat().st_size} bytes)" for path, place in self.files().items()]
        places = ", ".join(f"{one}/" for one in self.writable)
        return "\n".join([*lines, f"You may write below: {places or 'nothing'}"])

    def _read_file(self, path: str, lines: str = "") -> str:
        every = decode(read_bytes(self.place(path)), path).split("\n")
        first, last = _span(lines, len(every))
        chosen = every[first - 1 : min(last, first - 1 + MOST_LINES)]
        body = "\n".join(f"{first + place:5} {line}" for place, line in enumerate(chosen))
        left = len(every) - (first - 1) - len(chosen)
        return f"{body}\n({left} more lines)" if left > 0 else body

    def _search(self, text: str) -> str:
        wanted = text.casefold()
        if not wanted.strip():
            return "search: the text is empty; give a word or a name"
        hits = []
        for path, place in self.files().items():
            content = read_bytes(place).decode("utf-8", "replace")
            hits += [f"{path}:{line}: {shown(found.strip(), 200)}"
                     for line, found in enumerate(content.split("\n"), 1) if wanted in found.casefold()]  # fmt: skip
        more = f"\n... {len(hits) - MOST_HITS} more" if len(hits) > MOST_HITS else ""
        return "\n".join(hits[:MOST_HITS]) + more if hits else f"{shown(text)!r} stands nowhere"

    def _show_table(self, path: str) -> str:
        text = decode(read_bytes(self.place(path)), path)
        reading = tables.read(text)
        if reading.table is None:
            return f"{named(path)} {reading.flaws[0]}"
        columns = [
            f"- {shown(one.name)}: {one.kind}, unit {shown(one.unit) if one.unit else 'none'}, {one.missing} missing, "
            f"{one.distinct} distinct"
            for one in tables.describe(reading.table)
        ]
        twice = tables.duplicates(reading.table)
        head = [f"{len(reading.table.rows)} rows, {len(columns)} columns", *columns]
        head += [f"rows that repeat an earlier one: {', '.join(str(place + 2) for place in twice)}"] if twice else []
        head += [f"flaw: {flaw}" for flaw in reading.flaws]
        return "\n".join([*head, "", *text.split("\n")[:12]])

    def _write_file(self, path: str, text: str) -> str:
        path = self._may_write(path)
        if len(text) > MOST_WRITTEN:
            return f"write_file: the text has {len(text)} characters; expected at most {MOST_WRITTEN}"
        self._put(path, text if text.endswith("\n") else f"{text}\n")
        return f"{path} has {text.count(chr(10)) + 1} lines now"

    def _edit(self, path: str, edits: str) -> str:
        path = self._may_write(path)
        before = decode(read_bytes(self.place(path)), path)
        try:
            after = edited(edits, before)
        except ReplyError as problem:
            return f"edit: {problem}"
        self._put(path, after)
        return f"{path} is changed"

    def _may_write(self, path: str) -> str:
        clean = path.removeprefix("./")
        parts = clean.split("/")
        if any(part in {"", ".", ".."} for part in parts) or not clean.isprintable() or clean.startswith("/"):
            raise WorkspaceError(f"{named(path)} leads out of the workspace; expected a path below it")
        if not any(clean.startswith(f"{one}/") for one in self.writable):
            places = ", ".join(f"{one}/" for one in self.writable)
            raise WorkspaceError(f"{named(path)} may not be written; expected a path below {places or 'nothing here'}")
        return clean

    def _put(self, path: str, text: str) -> None:
        text = text.encode("utf-8", "replace").decode()
        if self.write is not None:
            self.write({path: text})
            return
        walk(self.folder)  # refuses links, so that no path leads out
        place = self.folder / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        except OSError as error:
            raise WorkspaceError(f"cannot write {named(path)}: {error.strerror}") from None

    def _run(self, path: str) -> str:
        self.place(path)
        self.ran = self.runner.run(self.folder, path.removeprefix("./"))
        return described(self.ran)

    def _inspect_solution(self) -> str:
        model = self.ran.last if self.ran else None
        if model is None or model.milp is None or model.solution is None:
            return "inspect_solution: no model was solved; run a program that builds and solves one first"
        values = [f"{plain(name)} = {rounded(value)}" for name, value in model.solution.values.items() if value]
        rows = [
            f"{plain(row.name)}: {row.relation} {number(row.rhs)}, slack {rounded(model.solution.slacks[row.name])}"
            for row in model.milp.rows if row.name in model.solution.slacks
        ]  # fmt: skip
        said = [remark.text for remark in explain(model.milp, model.solution, 20.0)]
        return "\n".join(["Values that are not 0:", *values[:200], "Rows:", *rows[:200], "What it means:", *said[:100]])

    def _whatif(self, row: str, rhs: float) -> str:
        model = self.ran.last if self.ran else None
        value = finite(rhs)
        if model is None or model.milp is None:
            return "whatif: no model was solved; run a program that builds and solves one first"
        if value is None:
            return f"whatif: rhs is {shown(rhs, 20)}; expected a finite number"
        now = model.milp.row(row)
        moved = replace(
            model.milp, rows=tuple(replace(one, rhs=value) if one is now else one for one in model.milp.rows)
        )
        found = self.runner.solve(moved)[0]
        if found.solution is None:
            return f"whatif: {found.note}"
        before = "–" if model.objective is None else rounded(model.objective)
        after = "no point" if found.objective is None else rounded(found.objective)
        return (
            f"{plain(row)} {now.relation} {number(value)} in place of {number(now.rhs)}: {found.solution.standing}, "
            f"objective {after} in place of {before}"
        )

    def _submit(self, path: str = "", answer: str = "") -> str:
        if self.writable and path:
            self.place(path)
        if self.writable and not path:
            return "submit: give the path of the program"
        if not self.writable and not answer.strip():
            return "submit: give the answer"
        self.submitted = {"path": path.removeprefix("./"), "answer": answer}
        return "done"


def described(ran: ProgramRun) -> str:
    """A run in words: how it ended, what it printed, what its models come to, and whether the two agree."""
    lines = [f"ended: {ran.stop}, exit code {ran.code}{f', {ran.reason}' if ran.reason else ''}"]
    printed = ran.printed
    lines.append(f"printed objective: {number(printed.value)}" if printed.value is not None else printed.note)
    for model in ran.models[-3:]:
        status = model.solution.standing if model.solution else shown(model.note, 200)
        value = "" if model.objective is None else f", objective {number(model.objective)}"
        size = f", {len(model.milp.variables)} variables, {len(model.milp.rows)} rows" if model.milp else ""
        lines.append(f"model solved: {status}{value}{size}")
    if printed.value is not None and ran.backing in (Backing.OTHER, Backing.NONE):
        lines.append(f"mark: of the printed objective, {ran.backing}")
    for name, text in (("stdout", ran.stdout), ("stderr", ran.stderr)):
        if text.strip():
            lines += [f"{name}:", ADDRESS.sub("0x...", text.strip()[-3000:])]
    return "\n".join(lines)


def _bounded(text: str) -> str:
    text = seen(text)
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n... {len(text) - MOST_CHARACTERS} more characters: ask for a part"


def _span(lines: str, count: int) -> tuple[int, int]:
    if not lines.strip():
        return 1, count
    first, _, last = lines.partition("-")
    if not (first.strip().isdecimal() and (last.strip() or first).strip().isdecimal()) or len(lines) > 20:
        raise WorkspaceError(f"lines is {shown(lines, 20)!r}; expected such as 20-80")
    low, high = int(first), int(last.strip() or first)
    if not 1 <= low <= high:
        raise WorkspaceError(f"lines is {shown(lines, 20)!r}; expected a first line from 1 on and a last one behind it")
    return low, high


def _misfit(given: Mapping[str, Any], wanted: Mapping[str, Any], needed: list[str]) -> str:
    for name, value in given.items():
        if name not in wanted:
            return f"unknown argument {shown(name, 40)!r}; expected {', '.join(wanted) or 'none'}"
        if wanted[name] is TEXT and not isinstance(value, str):
            return f"{name} is a {type(value).__name__}; expected a text"
    missing = [name for name in needed if name not in given]
    return f"{missing[0]} is missing" if missing else ""
