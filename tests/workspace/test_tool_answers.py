"""Answers of the tools on files, tables, parameters and figures, without a sandbox."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oragent.llm.model import ToolCall
from oragent.modelling.capture.program import ProgramOutcome
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.model_solving import solve
from oragent.workspace import tools
from oragent.workspace.runner import ProgramRun, SolvedModel
from oragent.workspace.settings import LIMITS
from oragent.workspace.tools import (
    ASK_PERSON,
    MAX_HITS,
    MAX_LINES,
    MAX_ROWS,
    MAX_WRITTEN,
    SubmissionFindings,
    ToolSession,
)
from tests.workspace.release import put
from tests.workspace.test_submission import DATA, PROGRAM, Runner, make_model

SOURCE = '[docs/a.md:2 "the oven takes 40"]'
TABLE = "Parameter_Name,Value,Unit,Context_Description\nflour,100,kg,there [docs/a.md:3]\nprice,4,EUR,of a loaf\n"


class FileRunner(Runner):
    """Runs programs on a folder with some files replaced."""

    limits = LIMITS

    def run(self, folder: Path, program: str, files: Any = None) -> ProgramRun:
        if not files:
            return super().run(folder, program)
        text = files[DATA].decode()
        figures = dict(line.split(",")[:2] for line in text.splitlines()[1:])
        milp = make_model(figures)
        return ProgramRun(ProgramOutcome.ENDED, models=(SolvedModel(milp, solve(milp)),))


@pytest.fixture
def session(tmp_path: Path) -> ToolSession:
    put(tmp_path, {
        "docs/a.md": "# Bakery\nEach day the oven takes 40 loaves.\nThere are 100 kg of flour.\nNobody works on 3 Sundays.\nOf 20 boxes, 12 are blue.\n",
        DATA: TABLE, PROGRAM: "import pulp\n", "src/.keep": "",
    })  # fmt: skip
    runner: Any = FileRunner()
    made = ToolSession(tmp_path, runner, ("src/*", "data/*"), tuple(tools.TOOLS), program=PROGRAM)
    made.tools = [*made.tools, tools.SET_CELL, tools.WRITE_PARAMETERS, ASK_PERSON]
    return made


def use(session: ToolSession, tool: str, /, **arguments: str) -> str:
    return session.call_tool(ToolCall("1", tool, arguments))


def test_a_file_is_read_by_lines_and_says_how_many_follow(session: ToolSession) -> None:
    lines = [f"line {at}" for at in range(1, MAX_LINES + 51)]
    put(session.folder, {"docs/long.md": "\n".join(lines)})
    for wanted, first, last in (
        ("", 1, MAX_LINES),
        ("10-12", 10, 12),
        ("40-9999", 40, MAX_LINES + 39),
        ("50-9999", 50, MAX_LINES + 49),
        (f"{MAX_LINES + 40}-9999", MAX_LINES + 40, MAX_LINES + 50),
    ):
        shown = use(session, "read_file", path="docs/long.md", lines=wanted).splitlines()
        rest = len(lines) - last
        assert [text.split()[0] for text in shown[: last - first + 1]] == [str(at) for at in range(first, last + 1)]
        assert [text.split(maxsplit=1)[1] for text in shown[: last - first + 1]] == lines[first - 1 : last]
        assert shown[last - first + 1 :] == ([f"({rest} more lines)"] if rest else [])


def test_a_search_finds_words_in_any_case_up_to_a_limit(session: ToolSession, monkeypatch: pytest.MonkeyPatch) -> None:
    assert use(session, "search", text="OVEN") == "docs/a.md:2: Each day the oven takes 40 loaves."
    assert "nowhere" in use(session, "search", text="oats")
    assert "empty" in use(session, "search", text="  ")
    put(session.folder, {"docs/many.md": "rye\n" * (MAX_HITS + 3)})
    found = use(session, "search", text="rye").splitlines()
    assert (len(found), found[0], found[-1]) == (MAX_HITS + 1, "docs/many.md:1: rye", "... 3 more")
    put(session.folder, {"docs/many.md": "rye\n" * MAX_HITS})
    assert len(use(session, "search", text="rye").splitlines()) == MAX_HITS
    # A large file is named in place of being searched.
    size = (session.folder / "docs/a.md").stat().st_size
    for limit, hits in ((size, True), (size - 1, False)):
        monkeypatch.setattr(tools, "MAX_SEARCHED", limit)
        assert ("docs/a.md:2" in use(session, "search", text="oven")) is hits
        assert ("large: docs/a.md" in use(session, "search", text="oven")) is not hits


def test_a_table_is_described_by_its_size_its_gaps_and_its_rows(session: ToolSession) -> None:
    rows = "".join(f"shop {at},{at}\n" for at in range(1, MAX_ROWS + 6))
    put(session.folder, {
        "data/long.csv": f"shop,tons\n{rows}", "data/gaps.csv": "shop,tons,kind\na,1,x\nb,,x\na,1,x\na,,\nc,5,y\nd,5,y\n", "data/ids.csv": "a,b\n1,2\n1,3\n2,4\n2,5\n",
        "data/semi.csv": "shop;tons\na;1,5\nb;2,5\n", "data/empty.csv": "",
    })  # fmt: skip
    shown = use(session, "show_table", path="data/long.csv").splitlines()
    assert shown[0] == f"{MAX_ROWS + 5} rows, 2 columns"
    assert shown[-2] == f"shop {MAX_ROWS},{MAX_ROWS}"
    assert "5 more rows" in shown[-1]
    gaps = use(session, "show_table", path="data/gaps.csv")
    assert "1 rows repeat an earlier one" in gaps
    assert "column tons: 2 empty cells, in row 2, 4" in gaps
    assert "column kind: 1 empty cells, in row 4" in gaps
    assert "shop occurs in several rows for a" in gaps
    # A first column that mostly repeats is none of identifiers.
    assert "occurs in several" not in use(session, "show_table", path="data/ids.csv")
    assert "more rows" not in gaps
    titles = [f"{'x' * 60} {at}" for at in range(6)]
    put(session.folder, {
        "data/half.csv": "shop,tons\na,1\na,2\nb,3\nb,4\nc,5\nd,6\n", "data/short.csv": "shop,tons,kind\na,1,x\nb,2\n", "data/bare.csv": "shop,tons\n",
        "data/many.csv": "shop,tons\n" + "".join(f"{title},\n{title},1\n{at},2\n" for at, title in enumerate(titles)),
        "data/more.csv": f"shop;tons\n{rows.replace(',', ';')}", "data/one.csv": f"shop,tons\n{rows.partition(f'shop {MAX_ROWS + 2},')[0]}",
    })  # fmt: skip
    assert "shop occurs in several rows for a, b\n" in use(session, "show_table", path="data/half.csv")
    assert use(session, "show_table", path="data/short.csv").endswith("b,2")
    assert use(session, "show_table", path="data/bare.csv").endswith("\n\nshop,tons")
    many = use(session, "show_table", path="data/many.csv").splitlines()
    assert next(line for line in many if "empty cells" in line).endswith("6 empty cells, in row 1, 4, 7, 10, 13")
    assert next(line for line in many if "several rows" in line).count("x" * 39 + "…") == 5
    assert not any("x" * 40 in line for line in many if "several rows" in line)
    more = use(session, "show_table", path="data/more.csv").splitlines()
    assert (more[-2], "5 more rows" in more[-1]) == (f"shop {MAX_ROWS},{MAX_ROWS}", True)
    assert "1 more rows" in use(session, "show_table", path="data/one.csv").splitlines()[-1]
    other = use(session, "show_table", path="data/semi.csv")
    assert "read_table('data/semi.csv')" in other
    assert other.endswith("a,1.5\nb,2.5")
    assert "read_table" not in gaps
    (session.folder / "data/old.csv").write_bytes("Ort,Menge\nKöln,5\n".encode("cp1252"))
    assert "read_table('data/old.csv')" in use(session, "show_table", path="data/old.csv")
    assert "empty" in use(session, "show_table", path="data/empty.csv")


def test_files_are_written_within_limits_and_keep_their_line_ends(session: ToolSession) -> None:
    assert use(session, "write_file", path="src/a.py", text="a\nb\n") == "src/a.py has 2 lines now"
    assert use(session, "write_file", path="src/a.py", text="a\nb") == "src/a.py has 2 lines now"
    assert (session.folder / "src/a.py").read_text() == "a\nb\n"
    assert use(session, "write_file", path="src/a.py", text="x" * MAX_WRITTEN).startswith("src/a.py has 1 ")
    assert (session.folder / "src/a.py").read_text() == "x" * MAX_WRITTEN + "\n"
    for path, text in (("src/a.py", "x" * (MAX_WRITTEN + 1)), ("src/a.py", "a\0b"), ("data/a.xlsx", "a")):
        assert use(session, "write_file", path=path, text=text).startswith("write_file: ")
    (session.folder / "src/w.py").write_bytes(b"a = 1\r\nb = 2\r\n")
    edits = "<<<<<<< SEARCH\na = 1\n=======\na = 5\n>>>>>>> REPLACE\n"
    assert use(session, "edit", path="src/w.py", edits=edits) == "src/w.py is changed"
    assert (session.folder / "src/w.py").read_bytes() == b"a = 5\r\nb = 2\r\n"
    assert use(session, "edit", path="data/a.xlsx", edits=edits).startswith("edit: ")
    assert use(session, "delete_file", path="src/w.py") == "src/w.py is deleted"
    assert not (session.folder / "src/w.py").exists()
    # Files of oragent itself are not shown.
    put(session.folder, {"run.db": "", ".oragent/run.json": "{}", "answers/a.md": "x"})
    listed = use(session, "list_files")
    assert "You may write: src/*, data/*" in listed
    assert "docs/a.md (" in listed
    assert not any(name in listed for name in ("run.db", ".oragent"))
    session.writable = ()
    assert "You may write: nothing" in use(session, "list_files")
    assert "may not be written" in use(session, "write_file", path="src/a.py", text="a")
    session.writable = ("src/*",)
    assert use(session, "write_file", path="src/more/deep/a.py", text="a") == "src/more/deep/a.py has 1 lines now"


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ({"name": "oven", "value": "40", "source": SOURCE, "unit": "loaves", "meaning": "a day"}, "oven,40,loaves,a day [docs/a.md:2]"),
        ({"name": "oven", "value": "-40", "source": SOURCE}, "oven,-40,,[docs/a.md:2]"),
        ({"name": "box", "value": "12", "source": '[docs/a.md:5 "boxes"]'}, "box,12,,[docs/a.md:5]"),
        # A figure that the line does not state, no citation of one line, no number, no name.
        ({"name": "oven", "value": "41", "source": SOURCE}, None), ({"name": "oven", "value": "40", "source": "the text"}, None),
        ({"name": "oven", "value": "40", "source": f"{SOURCE} {SOURCE.replace(':2', ':1')}"}, None), ({"name": "oven", "value": "forty", "source": SOURCE}, None),
        ({"name": " ", "value": "40", "source": SOURCE}, None), ({"name": "oven", "value": "40", "source": SOURCE.replace("takes", "gives")}, None),
        ({"name": "oven", "value": "100", "source": f"[{DATA}, row flour, column Value = 100]"}, None),
    ],
)  # fmt: skip
def test_a_parameter_is_written_if_its_line_states_it(
    session: ToolSession, arguments: dict[str, str], written: str | None
) -> None:
    answer = use(session, "write_parameters", **arguments)
    text = (session.folder / DATA).read_text()
    assert text == (TABLE if written is None else f"{TABLE}{written}\n")
    assert answer.startswith("write_parameters: ") is (written is None)


def test_a_known_parameter_is_changed_and_keeps_what_is_not_given(session: ToolSession) -> None:
    answer = use(session, "write_parameters", name="flour", value="40", source=SOURCE)
    assert "flour = 40 now" in answer
    assert "flour,40,kg,[docs/a.md:2]\n" in (session.folder / DATA).read_text()
    assert "already" in use(session, "write_parameters", name="flour", value="40", source=SOURCE)
    # A table without such a file begins with its titles.
    (session.folder / DATA).unlink()
    use(session, "write_parameters", name="oven", value="40", source=SOURCE)
    assert (
        session.folder / DATA
    ).read_text() == "Parameter_Name,Value,Unit,Context_Description\noven,40,,[docs/a.md:2]\n"


@pytest.mark.parametrize(
    ("cell", "value", "is_set"),
    [
        (f"{DATA}[price, Value]", "5", True), (f"{DATA}[flour, Unit]", "t", True),
        # A figure with a source stays what its line states.
        (f"{DATA}[flour, Value]", "90", False), (f"{DATA}[flour, Value]", "100.0", True), ("docs/a.md[a, b]", "3", False), ("data/none.csv[a, b]", "3", False),
    ],
)  # fmt: skip
def test_a_cell_is_set_unless_a_source_states_it(session: ToolSession, cell: str, value: str, is_set: bool) -> None:
    answer = use(session, "set_cell", cell=cell, value=f" {value} ")
    assert answer.endswith(f"is {value} now") is is_set
    assert ((session.folder / DATA).read_text() != TABLE) is is_set


def test_a_formula_of_a_workbook_is_not_written_over(session: ToolSession) -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (("name", "value"), ("oven", 40), ("twice", "=2*B2")):
        book.active.append(row)
    book.save(session.folder / "data/a.xlsx")
    content = (session.folder / "data/a.xlsx").read_bytes()
    assert "formula" in use(session, "set_cell", cell="data/a.xlsx[twice, value]", value="9")
    assert (session.folder / "data/a.xlsx").read_bytes() == content


def test_a_submission_is_checked_until_it_repeats_its_errors(session: ToolSession) -> None:
    findings = [
        SubmissionFindings(("e1",), ("w1",)),
        SubmissionFindings((), ("w1", "w2")),
        SubmissionFindings((), ("w1", "w2")),
    ]
    given: list[str] = []

    def check(path: str) -> SubmissionFindings:
        given.append(path)
        return findings[len(given) - 1]

    session.check = check
    assert "path" in use(session, "submit")
    first = use(session, "submit", path=f"./{PROGRAM}")
    assert "- e1" in first
    assert "- w1" in first
    assert "again" not in first
    second = use(session, "submit", path=PROGRAM)
    # A warning is told once.
    assert "- w2" in second
    assert "w1" not in second
    assert "again" in second
    assert not session.has_ended
    assert use(session, "submit", path=PROGRAM, answer="a") == "done"
    assert (session.submitted, given, session.has_ended) == ({"path": PROGRAM, "answer": "a"}, [PROGRAM] * 3, True)
    stuck = ToolSession(session.folder, session.runner, ("src/*",), check=lambda path: SubmissionFindings(("e",)))
    assert use(stuck, "submit", path=PROGRAM) != "done"
    assert use(stuck, "submit", path=PROGRAM) == "done"
    # With the last call, warnings do not hold up a submission.
    last = ToolSession(
        session.folder, session.runner, ("src/*",), check=lambda path: SubmissionFindings((), ("w",)), max_calls=1
    )
    assert use(last, "submit", path=PROGRAM) == "done"


def test_an_answer_is_submitted_with_references_that_can_be_filled(session: ToolSession) -> None:
    session.writable = ()
    assert "answer" in use(session, "submit", answer="  ")
    use(session, "query", line="solve")
    problem = use(session, "submit", answer="It earns {r9.objective}.")
    assert problem.startswith("not submitted:")
    assert session.submitted is None
    # The same again is accepted, as the agent cannot do better.
    assert use(session, "submit", answer="It earns {r9.objective}.") == "done"
    filled = session.fill_answer(
        'It earns {r1.objective}, from 7 shops and 40 loaves [docs/a.md:2 "takes 40"], of 100 asked.', "What of 100?"
    )
    assert "400" in filled
    # Neither the results, the question nor the cited line have the 7.
    assert re.findall(r"_(\d+)_", filled) == ["7"]
    broken = session.fill_answer('The 41 loaves [docs/a.md:2 "takes 41"].', "What?")
    assert re.findall(r"_(\d+)_", broken) == ["41"]
    assert session._open_model().study.limits.seconds == session.runner.limits.cpu_s
    assert filled.count('[docs/a.md:2 "takes 40"]') == 1
    marked = session.fill_answer("There are 17 shops.", "What?")
    assert marked != "There are 17 shops."
    assert session.fill_answer("There are 17 shops.", "What of 17?") == "There are 17 shops."
    # With the last call, a reference that cannot be filled does not hold up the answer.
    last = ToolSession(session.folder, session.runner, program=PROGRAM, max_calls=2)
    use(last, "query", line="solve")
    assert use(last, "submit", answer="It earns {r9.objective}.") == "done"
    unasked = ToolSession(session.folder, session.runner)
    assert unasked.fill_answer("There are 17 shops.", "What?") == "There are 17 shops."
    assert unasked.fill_answer("No figure.", "What?") == "No figure."


def test_a_query_changes_the_model_or_cells_of_the_last_program(session: ToolSession) -> None:
    assert "400" in use(session, "query", line="solve")
    changed = use(session, "query", line=f"{DATA}[flour, Value] = 50; {DATA}[price, Value] = 5")
    assert "objective 250" in changed
    assert changed.endswith("before the change: objective 400")
    assert (session.folder / DATA).read_text() == TABLE
    first = ToolSession(session.folder, session.runner, program=PROGRAM)
    assert use(first, "query", line=f"{DATA}[flour, Value] = 50").endswith("before the change: objective 400")
    alone = ToolSession(session.folder, session.runner)
    assert "run a program" in use(alone, "query", line=f"{DATA}[flour, Value] = 50")
    assert "no model" in use(alone, "query", line="solve")
    put(session.folder, {"src/broken.py": "broken"})
    use(alone, "run", path="./src/broken.py")
    assert use(alone, "query", line=f"{DATA}[flour, Value] = 50").endswith("objective none")
    use(session, "run", path=PROGRAM)
    assert session.last_run is not None
    assert session.last_run.objective == 400.0


def test_the_person_answers_in_order_and_then_is_asked(session: ToolSession) -> None:
    session.person_answers = ("First.", "Second.")
    assert use(session, "ask_person", question="One?").endswith("First.")
    assert use(session, "ask_person", question="Two?").endswith("Second.")
    assert "empty" in use(session, "ask_person", question=" ")
    assert not session.has_ended
    use(session, "ask_person", question="Three?")
    assert (session.question, session.has_ended) == ("Three?", True)
    use(session, "ask_person", question="?" * 1001)
    assert session.question == "?" * 999 + "…"


def test_calls_are_counted_and_wrong_ones_are_answered(session: ToolSession) -> None:
    assert "no tool" in use(session, "none")
    assert "cannot be read" in session.call_tool(ToolCall("1", "list_files", {}, "no JSON"))
    session.max_calls = 3
    assert not use(session, "list_files").startswith("no call")
    assert not session.has_ended
    assert use(session, "list_files").startswith("no call")
    assert (session.calls, session.has_ended) == (4, True)


def test_a_run_is_described_by_its_last_models_and_the_end_of_its_output() -> None:
    limits = {f"most {at}": Row(f"most {at}", {"x": 1.0}, Relation.AT_MOST, float(at)) for at in (3, 4)}
    milp = IndexedModel.from_records((Variable("x"),), tuple(limits.values()), Objective({"x": 2.0}), Sense.MAXIMIZE)
    models = [SolvedModel(milp, Solution(SolveStatus.OPTIMAL, objective=float(at))) for at in range(4)]
    run = ProgramRun(
        ProgramOutcome.ENDED, 3, "a" * 3000 + "b", " \n", (*models[:3], SolvedModel(None, note="too large"))
    )
    lines = tools.describe_run(run).splitlines()
    assert ["exit code 3" in line for line in lines[:2]] == [True, False]
    assert [line.rpartition("objective ")[2] for line in lines[1:3]] == [f"{at}, 1 variables, 2 rows" for at in (1, 2)]
    assert lines[3] == "model solved: too large"
    assert lines[4:] == ["stdout:", "a" * 2999 + "b"]
    cut = ProgramRun(ProgramOutcome.TIME, 1, "", "late\n", (models[3],), reason="why")
    lines = tools.describe_run(cut).splitlines()
    assert "time" in lines[0]
    assert lines[0].endswith(": why")
    assert not any("exit code" in line for line in lines)
    assert lines[-2:] == ["stderr:", "late"]
    note = tools.describe_run(replace(run, models=(SolvedModel(None, note="n" * 201),))).splitlines()[1]
    assert note == f"model solved: {'n' * 199}…"
    failed = ProgramRun(ProgramOutcome.ERROR, 1, reason="why")
    assert tools.describe_run(failed).endswith("exit code 1, why")
