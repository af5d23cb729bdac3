"""Verbs of agents on a folder, with a scripted model and runs that are made from the data of the folder."""

import asyncio
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Budget
from oragent._base.errors import ReplyError, WorkspaceError
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Request, ToolCall
from oragent.modelling.capture.program import ProgramOutcome
from oragent.modelling.data.model_records import Variable
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.operations.results import Figure, ObjectiveChange
from oragent.modelling.solving.model_solving import solve
from oragent.workspace import agent_tasks
from oragent.workspace.agent_tasks import (
    MAX_SHOWN,
    VerbRunner,
    WorkspaceDraft,
    _bounded_text,
    _describe_gap,
    _describe_result,
    _parse_plan,
    failure_request,
)
from oragent.workspace.folder import ChangeRequest, RequestStatus, WorkspaceFolder, list_requests
from oragent.workspace.layout import sha256_of
from oragent.workspace.runner import ProgramRun, SolvedModel
from oragent.workspace.settings import LIMITS, WorkspaceSettings
from oragent.workspace.versions import Versions, WorkspaceVersion
from tests.workspace.release import put
from tests.workspace.test_submission import DATA, FIGURES, PROGRAM, Runner, make_model

MADE = make_model(FIGURES)


def run_of(status: SolveStatus | None, model: Any = MADE, stop: ProgramOutcome = ProgramOutcome.ENDED) -> ProgramRun:
    if status is None:
        return ProgramRun(stop, 1, stderr="NameError: rye")
    if status is SolveStatus.OPTIMAL:
        return ProgramRun(stop, models=(SolvedModel(model, solve(model)),))
    return ProgramRun(stop, models=(SolvedModel(model, Solution(status)),))


CONFLICT = make_model({**FIGURES, "most_rye": "4", "order": "9"})
PLAN: dict[str, Any] = {
    "summary": "fewer loaves", "rows": [{"name": "rye_sold", "change": "add"}],
    "data": [{"name": "most_rye", "value": "40", "unit": "loaves", "meaning": "sold", "neutral": "1000"}],
}  # fmt: skip
TITLES = "Parameter_Name,Value,Unit,Context_Description\n"
TABLE = f"{TITLES}flour,100,kg,there\n"
ENDLESS = MADE.with_records(rows=(), variables=(Variable("rye"), Variable("wheat", 0, 5)))


@pytest.mark.parametrize(
    ("run", "objective", "standing", "parts"),
    [
        (run_of(SolveStatus.OPTIMAL), 400.0, "optimal", None), (run_of(None), None, "", []), (run_of(SolveStatus.UNBOUNDED), None, "unbounded", ["unbounded"]),
        (run_of(SolveStatus.INFEASIBLE, CONFLICT), None, "infeasible", ["infeasible", "rye_sold", "order"]),
        # A program that was stopped has no result, whatever its model.
        (run_of(SolveStatus.OPTIMAL, stop=ProgramOutcome.MEMORY), None, "optimal", []), (None, None, "", None),
    ],
)  # fmt: skip
def test_a_result_has_the_objective_or_the_reason_of_its_end(
    run: ProgramRun | None, objective: float | None, standing: str, parts: list[str] | None
) -> None:
    result = _describe_result(run)
    assert (result["objective"], result["standing"]) == (objective, standing)
    assert bool(result["run"])
    assert ("end" in result) is (parts is not None)
    text = " ".join([result.get("end", ""), *result.get("conflict", ())])
    assert [part for part in parts or () if part not in text] == []
    assert bool(result.get("conflict")) is (standing == "infeasible")


@pytest.mark.parametrize(
    ("run", "parts", "absent"),
    [
        (run_of(None), ["NameError: rye"], ["The model is"]), (run_of(SolveStatus.INFEASIBLE, CONFLICT), ["infeasible", "rye_sold", "order"], ["without end"]),
        (run_of(SolveStatus.UNBOUNDED, ENDLESS), ["unbounded", "without end", "'rye'"], ["'wheat'", "conflict"]), (run_of(SolveStatus.UNKNOWN), ["unknown"], ["without end"]),
        (run_of(SolveStatus.OPTIMAL, stop=ProgramOutcome.ERROR), ["error"], ["The model is"]),
    ],
)  # fmt: skip
def test_a_failed_run_is_described_for_its_correction(run: ProgramRun, parts: list[str], absent: list[str]) -> None:
    text = failure_request(run)
    assert [part for part in parts if part not in text] == []
    assert [part for part in absent if part in text] == []
    with pytest.raises(WorkspaceError):
        failure_request(run_of(SolveStatus.OPTIMAL))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Figure.exact(-5.0), ""), (Figure(value=3.0, low=1.0, high=4.0), "changes by"), (Figure(value=-3.0, low=-4.0, high=-1.0), "changes by"),
        (Figure(value=1.0, low=-1.0, high=4.0), "no change"), (Figure(value=1.0), "no change"), (Figure(value=1.0, low=0.0, high=4.0), "no change"),
        (Figure(value=1.0, low=-2.0, high=0.0), "no change"), (Figure(value=1.0, low=1.0), "changes by"), (Figure(value=-1.0, high=-1.0), "changes by"),
    ],
)  # fmt: skip
def test_a_change_within_the_gap_is_no_change(change: Figure, words: str) -> None:
    objective = ObjectiveChange(name="", sense="minimize", before=Figure(), after=Figure(), difference=change)
    text = _describe_gap(SimpleNamespace(objective=objective))  # type: ignore[arg-type]
    assert words in text
    assert bool(text) is bool(words)
    assert _describe_gap(None) == ""


@pytest.mark.parametrize("count", [19, 20, 21])
def test_at_most_twenty_variables_without_end_are_named(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(agent_tasks, "ray", lambda model: {f"x{at}": 1.0 for at in range(count)})
    assert failure_request(run_of(SolveStatus.UNBOUNDED, ENDLESS)).count("without end") == min(count, 20)


@pytest.mark.parametrize(
    ("table", "patterns", "written"),
    [
        (TABLE, (), f"{TABLE}most_rye,40,loaves,sold\n"), (None, (), f"{TITLES}most_rye,40,loaves,sold\n"), (TABLE, ("inputs/*",), f"{TABLE}most_rye,40,loaves,sold\n"),
        # The data of this folder lie elsewhere.
        (None, ("inputs/*",), None),
    ],
)  # fmt: skip
def test_new_figures_of_a_plan_are_written_where_the_folder_has_such_a_table(
    tmp_path: Path, table: str | None, patterns: tuple[str, ...], written: str | None
) -> None:
    put(tmp_path, {} if table is None else {DATA: table})
    verbs: Any = VerbRunner(None, None, None, None, WorkspaceSettings(data=patterns))  # type: ignore[arg-type]
    draft = WorkspaceDraft(tmp_path, {} if table is None else {DATA: "0"})
    request = ChangeRequest("requests/deep/a.md", RequestStatus.OPEN, "Fewer.")
    verbs._prepare(draft, request, {**PLAN, "data": [*PLAN["data"], "odd"]})
    assert (tmp_path / request.path).read_text() == "Fewer."
    assert json.loads((tmp_path / "plan.json").read_text())["rows"] == PLAN["rows"]
    assert "\n " in (tmp_path / "plan.json").read_text()
    assert (tmp_path / DATA).exists() is (written is not None)
    assert written is None or (tmp_path / DATA).read_text() == written


def test_a_long_file_is_shown_up_to_a_whole_line(tmp_path: Path) -> None:
    lines = [f"{at:06d}" for at in range(MAX_SHOWN // 7 + 10)]
    put(tmp_path, {"long.md": "\n".join(lines) + "\n", "short.md": "x" * MAX_SHOWN, "wide.md": "y" * (MAX_SHOWN + 1)})
    shown = _bounded_text("long.md", tmp_path / "long.md").splitlines()
    assert shown[:-1] == lines[: MAX_SHOWN // 7]
    # How many lines are left out.
    assert str(len(lines) - len(shown) + 1) in shown[-1]
    assert _bounded_text("short.md", tmp_path / "short.md") == "x" * MAX_SHOWN
    assert _bounded_text("wide.md", tmp_path / "wide.md").startswith("y" * MAX_SHOWN + "...")


def test_a_plan_has_lists_of_entries_and_short_texts() -> None:
    plan = _parse_plan({"summary": "s" * 999, "objective": None, "rows": [1] * 101, "data": None, "other": 5})
    assert plan == {"summary": "s" * 300, "objective": "", "rows": [1] * 100, "data": [], "edits": []}
    for wrong in ([], "plan", {"rows": {"name": "x"}}, {"edits": "x"}):
        with pytest.raises(ReplyError):
            _parse_plan(wrong)


def call(name: str, **arguments: object) -> Message:
    return Message("assistant", "", (ToolCall("1", name, arguments),))


LATER = call(
    "edit", path="docs/a.md", edits="<<<<<<< SEARCH\nBake.\n=======\nBake, at most most_rye of rye.\n>>>>>>> REPLACE\n"
)


class MemoryVersions:
    """Stands for versions in git, which tests of versions hold: contents by their digests."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.contents = folder, dict[str, bytes]()
        self.versions, self.drafts = list[WorkspaceVersion](), dict[str, Mapping[str, str]]()

    @property
    def tip(self) -> str:
        return str(len(self.versions))

    def __enter__(self) -> "MemoryVersions":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def list_versions(self) -> list[WorkspaceVersion]:
        return self.versions

    def list_own(self) -> list[WorkspaceVersion]:
        return self.versions

    def save_snapshot(self, reason: str) -> None:
        self.versions.append(WorkspaceVersion("0", 0, "person", reason))

    def save_files(self, folder: Path, paths: Iterable[str]) -> dict[str, str]:
        read = {path: (folder / path).read_bytes() for path in paths}
        blobs = {path: sha256_of(content) for path, content in read.items()}
        self.contents |= {blobs[path]: content for path, content in read.items()}
        return blobs

    def write_files(self, blobs: Mapping[str, str], folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        put(folder, {path: self.contents[blob].decode() for path, blob in blobs.items()})

    def keep_contents(self, name: str, blobs: Mapping[str, str]) -> None:
        self.drafts[name] = blobs

    def read_content(self, blob: str | None) -> bytes | None:
        return None if blob is None else self.contents[blob]

    def write_version(
        self, contents: Mapping[str, str | bytes | None], author: str, reason: str, verb: str = ""
    ) -> None:
        for path, content in contents.items():
            if content is None:
                (self.folder / path).unlink(missing_ok=True)
            else:
                put(self.folder, {path: content.decode() if isinstance(content, bytes) else content})
        self.versions.append(WorkspaceVersion("0", 0, author, reason, tuple(sorted(contents)), verb))


class Bakery:
    """A folder whose program is run by a made runner."""

    def __init__(
        self, folder: Path, *steps: Message, plan: Any = PLAN, program: str = "import pulp\n", has_git: bool = False
    ) -> None:
        self.folder, self.steps, self.plan, self.requests = folder, list(steps), plan, list[Request]()
        self.versions: Any = Versions(folder) if has_git else MemoryVersions(folder)
        table = "Parameter_Name,Value,Unit,Context_Description\n" + "".join(
            f"{name},{value},,\n" for name, value in FIGURES.items()
        )
        put(folder, {"docs/a.md": "# Bakery\nBake.\n", DATA: table, **({PROGRAM: program} if program else {})})
        self.runner: Any = Runner()
        self.runner.limits = LIMITS
        self.settings = WorkspaceSettings()

    def reply(self, request: Request, number: int) -> Message:
        self.requests.append(request)
        if request.role == "planner":
            return Message("assistant", json.dumps(self.plan))
        done = sum(message.role == "assistant" for message in request.messages)
        return self.steps[min(done, len(self.steps) - 1)]

    def perform(self, name: str, verb: str, *words: Any, **options: Any) -> dict[str, Any]:
        results: list[dict[str, Any]] = []

        async def work(case: Any) -> Any:
            verbs = VerbRunner(
                WorkspaceFolder(self.folder), study, self.versions, self.runner, self.settings, **options
            )
            results.append(await getattr(verbs, verb)(case, *words))
            return results[-1]

        with Study(self.folder, {"": Scripted(self.reply)}, Budget(evaluations=None)) as study:
            asyncio.run(study.run_cases([name], work))
            assert results, study.stop_reason
        return results[0]


def test_a_program_is_built_and_written_with_its_record(tmp_path: Path) -> None:
    bakery = Bakery(
        tmp_path, call("write_file", path=PROGRAM, text="import pulp\n"), call("submit", path=PROGRAM), program=""
    )
    result = bakery.perform("build-1", "build_program")
    assert (result["written"], result["objective"], result["standing"], result["path"]) == (
        True,
        400.0,
        "optimal",
        PROGRAM,
    )
    assert (result["verb"], result["request"], result["calls"], result["clashes"]) == ("build", "", 2, [])
    assert (tmp_path / PROGRAM).read_text() == "import pulp\n"
    newest = bakery.versions.list_versions()[-1]
    assert (newest.author, newest.verb, newest.paths) == ("builder", "build-1", (PROGRAM,))
    assert "400" in newest.reason
    assert json.loads((tmp_path / ".oragent/run.json").read_text())["objective"] == 400.0
    # A program that was left without a submission is run too; one that fails is not written.
    for text, written in (("import pulp\n", True), ("broken\n", False)):
        other = Bakery(
            tmp_path / text[:6], call("write_file", path=PROGRAM, text=text), Message("assistant", "Done."), program=""
        )
        result = other.perform("build-1", "build_program")
        assert (result["written"], (other.folder / PROGRAM).exists()) == (written, written)
        assert result["end"]


def test_a_revision_is_planned_prepared_compared_and_written(tmp_path: Path) -> None:
    bakery = Bakery(tmp_path, LATER, call("submit", path=PROGRAM))
    result = bakery.perform("revise-1", "revise_program", "At most 40 loaves of rye.")
    assert (result["written"], result["preserved"], result["missing"], result["clashes"]) == (True, True, [], [])
    assert (result["before"], result["objective"], result["change"]) == (400.0, 340.0, "")
    assert (result["plan"]["summary"], result["verb"], result["request"]) == (
        "fewer loaves",
        "revise",
        "At most 40 loaves of rye.",
    )
    assert any("rye_sold" in text for text in result["differences"])
    # Three cells of the new row.
    assert (len(result["data_edits"]), result["unplanned_edits"]) == (3, [])
    assert all("most_rye" in text for text in result["data_edits"])
    assert result["comparison"]["objective"]["difference"]["value"] == -60.0
    assert "most_rye,40,loaves,sold" in (tmp_path / DATA).read_text()
    assert "at most most_rye" in (tmp_path / "docs/a.md").read_text()
    (request,) = list_requests(WorkspaceFolder(tmp_path).list_files())
    assert (request.status, request.text.strip(), request.path) == (
        RequestStatus.DONE,
        "At most 40 loaves of rye.",
        result["request_path"],
    )
    assert not (tmp_path / "plan.json").exists()
    newest = bakery.versions.list_versions()[-1]
    assert (newest.author, newest.reason, newest.verb) == ("reviser", "fewer loaves", "revise-1")
    first = bakery.versions.list_versions()[0]
    assert (first.author, first.reason, first.verb) == ("request", "request revise-1", "revise-1")
    # The former program and the new one run once, beside the trial at former values.
    assert len(bakery.runner.folders) == 3
    assert json.loads(json.dumps(result)) == result
    assert newest.paths == tuple(sorted({DATA, "docs/a.md", request.path}))
    planner, *_, reviser = bakery.requests
    # The planner reads all files, and the reviser the former objective.
    assert all(
        text in planner.messages[0].content
        for text in ("=== docs/a.md\n# Bakery", f"=== {PROGRAM}", "flour,100", "At most 40")
    )
    assert all(text in reviser.messages[0].content for text in (request.path, PROGRAM, "400", f"{LIMITS.cpu_s:g} s"))
    assert (planner.temperature, reviser.role) == (0.0, "reviser")


REFUSED = {**PLAN, "data": [{**PLAN["data"][0], "neutral": "30"}]}


@pytest.mark.parametrize("has_git", [False, True])
def test_a_revision_that_loses_a_former_rule_is_kept_and_accepted_later(tmp_path: Path, has_git: bool) -> None:
    bakery = Bakery(tmp_path, LATER, call("submit", path=PROGRAM), plan=REFUSED, has_git=has_git)
    # The agent insists after the warning.
    bakery.steps = [LATER, call("submit", path=PROGRAM), call("submit", path=PROGRAM)]
    result = bakery.perform("revise-1", "revise_program", "At most 40 loaves of rye.")
    assert (result["written"], result["preserved"], result["objective"]) == (False, False, 340.0)
    assert set(result["refused"]) == {DATA, "docs/a.md"}
    assert all(len(pair) == 2 and all(pair) for pair in result["refused"].values())
    assert "most_rye" not in (tmp_path / DATA).read_text()
    (request,) = list_requests(WorkspaceFolder(tmp_path).list_files())
    assert request.status is RequestStatus.REFUSED
    own = [version for version in bakery.versions.list_versions() if version.author == "request"]
    assert [(version.reason, version.verb) for version in own] == [
        ("request revise-1", "revise-1"),
        ("revise-1 was not written", "revise-1"),
    ]
    asked = len(bakery.requests)
    accepted = bakery.perform("revise-2", "accept_revision", result)
    assert len(bakery.requests) == asked
    assert (accepted["written"], accepted["objective"], accepted["calls"], "refused" in accepted) == (
        True,
        340.0,
        0,
        False,
    )
    assert "most_rye,40" in (tmp_path / DATA).read_text()
    (request,) = list_requests(WorkspaceFolder(tmp_path).list_files())
    assert request.status is RequestStatus.DONE
    newest = bakery.versions.list_versions()[-1]
    assert (newest.author, newest.verb) == ("reviser", "revise-2")
    assert newest.reason.endswith("fewer loaves")
    # Written at once where that is asked for.
    again = Bakery(tmp_path / "again", plan=REFUSED)
    again.steps = bakery.steps
    result = again.perform("revise-1", "revise_program", "At most 40 loaves of rye.", accept=True)
    assert (result["written"], result["preserved"], "refused" in result) == (True, False, False)


def test_new_and_deleted_files_of_a_refused_revision_are_accepted_too(tmp_path: Path) -> None:
    more = (call("write_file", path="src/more.py", text="x = 1\n"), call("delete_file", path="src/help.py"))
    bakery = Bakery(tmp_path, LATER, *more, *[call("submit", path=PROGRAM)] * 2, plan=REFUSED)
    put(tmp_path, {"src/help.py": "y = 1\n"})
    result = bakery.perform("revise-1", "revise_program", "At most 40 loaves of rye.")
    pairs = {path: tuple(blob is not None for blob in blobs) for path, blobs in result["refused"].items()}
    changed = (True, True)
    assert pairs == {DATA: changed, "docs/a.md": changed, "src/more.py": (False, True), "src/help.py": (True, False)}
    kept = bakery.versions.drafts["revise-1"]
    assert {path.partition("/")[0] for path in kept if path.endswith("help.py")} == {"before"}
    assert {path.partition("/")[0] for path in kept if path.endswith("more.py")} == {"after"}
    assert len(kept) == 6
    assert ((tmp_path / "src/help.py").exists(), (tmp_path / "src/more.py").exists()) == (True, False)
    accepted = bakery.perform("revise-2", "accept_revision", result)
    assert (accepted["written"], accepted["clashes"]) == (True, [])
    assert ((tmp_path / "src/help.py").exists(), (tmp_path / "src/more.py").read_text()) == (False, "x = 1\n")
    # A file that the person changed since, or wrote under that name, is kept, and the revision stays refused.
    for path in ("src/help.py", "src/more.py"):
        put(
            tmp_path,
            {"src/help.py": "y = 1\n", DATA: TITLES + "flour,100,,\nprice,4,,\n", "docs/a.md": "# Bakery\nBake.\n"},
        )
        (tmp_path / "src/more.py").unlink(missing_ok=True)
        put(tmp_path, {path: "mine = 1\n"})
        again = bakery.perform(f"revise-{path[4:8]}", "accept_revision", result)
        assert (again["written"], again["clashes"], again["refused"]) == (False, [path], result["refused"])
        assert (tmp_path / path).read_text() == "mine = 1\n"


def test_a_file_that_the_person_changed_meanwhile_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bakery = Bakery(tmp_path, LATER, call("submit", path=PROGRAM))
    reply = bakery.reply

    def change(request: Request, number: int) -> Message:
        if request.role == "reviser":
            (tmp_path / "docs/a.md").write_text("# My own\n")
        return reply(request, number)

    monkeypatch.setattr(bakery, "reply", change)
    result = bakery.perform("revise-1", "revise_program", "At most 40 loaves of rye.")
    assert (result["written"], result["clashes"], "refused" in result) == (False, ["docs/a.md"], False)
    assert Path(result["draft"]).is_dir()
    assert (tmp_path / "docs/a.md").read_text() == "# My own\n"
    assert "most_rye" not in (tmp_path / DATA).read_text()


def test_a_revision_without_a_program_a_plan_or_its_planned_edits(tmp_path: Path) -> None:
    none = Bakery(tmp_path / "none", program="")
    with pytest.raises((WorkspaceError, AssertionError), match="no program to revise"):
        none.perform("revise-1", "revise_program", "More.")
    none.settings = WorkspaceSettings(program="src/none.py")
    with pytest.raises((OSError, AssertionError)) as problem:
        none.perform("revise-2", "revise_program", "More.")
    assert "no program to revise" not in str(problem.value)
    odd = Bakery(tmp_path / "odd", LATER, call("submit", path=PROGRAM), plan="no plan")
    result = odd.perform("revise-1", "revise_program", "More.")
    assert (result["plan"], result["written"]) == (agent_tasks.NO_PLAN, True)
    lacking = Bakery(
        tmp_path / "lacking",
        LATER,
        call("submit", path=PROGRAM),
        plan={"edits": ["data/general_parameters.csv[flour, Value] = 90"]},
    )
    lacking.steps = [LATER, *[call("submit", path=PROGRAM)] * 3, Message("assistant", "Done.")]
    result = lacking.perform("revise-1", "revise_program", "Less flour.")
    assert (result["written"], len(result["missing"])) == (False, 1)
    assert "flour" in result["end"]
    broken = Bakery(
        tmp_path / "broken", call("write_file", path=PROGRAM, text="broken\n"), Message("assistant", "Done.")
    )
    result = broken.perform("revise-1", "revise_program", "Break it.")
    assert (result["written"], result["objective"], result["before"]) == (False, None, 400.0)
    assert (broken.folder / PROGRAM).read_text() == "import pulp\n"


@pytest.mark.parametrize(("is_repair", "calls"), [(True, 1), (False, 2)])
def test_a_repair_changes_no_requirement(tmp_path: Path, is_repair: bool, calls: int) -> None:
    bakery = Bakery(tmp_path, call("submit", path=PROGRAM), plan={"summary": "the same"})
    result = bakery.perform("revise-1", "revise_program", "Mend it.", is_repair)
    assert (result["written"], result["calls"]) == (True, calls)


@pytest.mark.parametrize("verb", ["build_program", "revise_program", "answer_question"])
def test_an_agent_gets_the_answers_of_the_person(tmp_path: Path, verb: str) -> None:
    ends = {"path": PROGRAM} if verb != "answer_question" else {"answer": "Rye."}
    bakery = Bakery(tmp_path, call("ask_person", question="Which?"), call("submit", **ends), plan={"data": []})
    words = [] if verb == "build_program" else ["What?"]
    bakery.perform("one-1", verb, *words, answers=("The dark rye.",))
    assert any("The dark rye." in message.content for message in bakery.requests[-1].messages)


def test_a_question_is_answered_from_the_files_of_its_beginning(tmp_path: Path) -> None:
    bakery = Bakery(tmp_path, call("submit", answer='Bake [docs/a.md:2 "Bake"], rest [docs/a.md:1 "Rest"].'))
    result = bakery.perform("ask-1", "answer_question", "What?")
    assert (result["verb"], result["request"], result["written"], result["objective"], result["calls"]) == (
        "ask",
        "What?",
        True,
        None,
        1,
    )
    assert len(result["broken_citations"]) == 1
    written = (tmp_path / "answers/ask-1.md").read_text()
    assert written.startswith("# What?\n")
    assert result["answer"] in written
    assert result["revision"] == bakery.versions.tip
    # Figures come from the model of the program in the folder.
    earning = Bakery(tmp_path / "more", call("query", line="solve"), call("submit", answer="It earns {r1.objective}."))
    assert earning.perform("ask-1", "answer_question", "What?")["answer"].startswith("It earns 400 [r1]")
