"""The long-term memory: which reports it lacks, when it is rewritten, and how long it may be."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.direction import Direction
from oragent.search.archive import Archive
from oragent.search.candidate import Candidate, Elite
from oragent.search.journal import Moment
from oragent.search.store import RoundNote
from oragent.search.strategies.or_agent import reflection
from oragent.search.strategies.or_agent.reflection import MAX_REPORTS, LessonMemory
from oragent.search.strategies.or_agent.settings import AgentSettings
from oragent.search.strategies.or_agent.tree import (
    MEMORY,
    TREE,
    UNTRIED,
    ExperimentStep,
    MemoryNote,
    NodeNote,
    TreeNote,
)
from tests.search.test_or_agent_sessions import candidate


class Round(SimpleNamespace):
    """A round without an engine; replies come in turn."""

    def note(self, kind: str, text: str) -> None:
        self.notes.append(RoundNote(self.number, kind, text))

    def turn_of(self, number: int) -> int:
        return number

    def temperature(self, role: str) -> float | None:
        return {"lead": 0.1, "reflect": 0.2}.get(role)

    def fill_template(self, name: str, style: str = "", /, **values: Any) -> str:
        self.filled.append((name, values))
        return name

    async def ask(self, role: str, messages: Any, temperature: float | None = None) -> Any:
        self.asked.append((role, messages, temperature))
        return SimpleNamespace(text=next(self.replies))


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(reflection, "task_messages", lambda run, text: text)

    def make_run(*memory: RoundNote, replies: Any = (), **changes: Any) -> Any:
        settings = {name: value for name, value in changes.items() if name in AgentSettings.__dataclass_fields__}
        given: dict[str, Any] = {"number": 9, "turn": 9, "window": 1, "horizon": 8, "moment": Moment(), "notes": []}
        given |= {name: value for name, value in changes.items() if name not in settings}
        return Round(
            own=AgentSettings(**settings), memory=memory, replies=iter(replies), asked=[], filled=[],
            problem=SimpleNamespace(knowledge=" Known. \n", about=SimpleNamespace(features=())),
            archive=Archive(Direction.MINIMIZE), style="small",
            settings=SimpleNamespace(strategy=SimpleNamespace(features=False)), **given,
        )  # fmt: skip

    return make_run


def node(number: int, score: float | None = 4.0, parent: int | None = 0, **changes: Any) -> NodeNote:
    given: dict[str, Any] = {
        "title": f"idea {number}", "idea": "text", "state": "open", "candidate": None, "failure": "" if score else "bad",
        "steps": (), "report": f"report {number}", "better": True,
    }  # fmt: skip
    return NodeNote(number=number, parent=parent, score=score, **(given | changes))


def tree(number: int, *nodes: NodeNote) -> RoundNote:
    root = node(0, 9.0, None)
    return RoundNote(
        number, TREE, TreeNote(False, ("0.0",), (root, *(nodes or (node(1, title=f"of {number}"),)))).dump()
    )


def memory(number: int, text: str, horizon: int, *beyond: int) -> RoundNote:
    return RoundNote(number, MEMORY, MemoryNote(text, horizon, beyond).dump())


def titles(found: LessonMemory) -> list[str]:
    return [report.removeprefix("- ").partition(":")[0] for report in found.pending]


def test_a_memory_begins_with_the_knowledge_of_the_problem(make) -> None:
    assert reflection.recall_memory(make()) == LessonMemory("Known.", ())


def test_reports_that_a_memory_includes_are_not_pending(make) -> None:
    run = make(tree(1), memory(2, "Old.", 0), tree(2), tree(3), memory(4, "New.", 2, 5, 4), tree(4), tree(5), tree(6))
    found = reflection.recall_memory(run)
    assert (found.text, titles(found), found.beyond) == ("New.", ["of 3", "of 6"], (4, 5))
    first = make(tree(1), tree(2))
    assert titles(reflection.recall_memory(first)) == ["of 1", "of 2"]
    assert titles(reflection.recall_memory(make(tree(1), tree(2), reflection="elitist"))) == ["of 2"]


def test_rounds_that_ended_beside_this_one_count_and_are_named(make) -> None:
    ended = (tree(7), tree(9), RoundNote(6, "other", "x"), tree(6))
    run = make(tree(5), moment=Moment(notes=ended), notes=[tree(9, node(1, title="own"))])
    found = reflection.recall_memory(run)
    assert titles(found) == ["of 5", "of 7", "of 6", "own"]
    assert found.beyond == (6, 7)


def test_a_report_has_the_scores_before_and_after(make) -> None:
    step = ExperimentStep("edit", "halve it", "score 3", better=True)
    nodes = (
        node(1, 4.0),
        node(2, 6.0, 1, report="", steps=(step,)),
        node(3, None, 1),
        node(4, None, state=UNTRIED),
        node(5, 4.0, 1),
    )
    reports = reflection.recall_memory(make(tree(1, *nodes))).pending
    assert len(reports) == 4
    assert "from score 9 to score 4, better. report 1" in reports[0]
    assert "from score 4 to score 6, worse. text" in reports[1]
    assert "halve it" in reports[1]
    assert "from score 4 to bad. report 3" in reports[2]
    assert "neither" in reports[3]
    many = node(1, report="", steps=(step,) * (reflection.MAX_STEPS + 3))
    assert reflection.report_from_steps(many).count("halve it") == reflection.MAX_STEPS
    assert reflection.report_from_steps(node(1)) == "text"


@pytest.mark.parametrize(
    ("pending", "elitist", "changes", "rewrites", "shows"),
    [
        (3, False, {}, True, True),
        (2, False, {}, False, True),
        (1, True, {}, True, True),
        (0, True, {}, False, True),
        (3, False, {"window": 2}, False, True),
        (3, False, {"window": 3}, True, True),
        (3, False, {"reflection": "elitist"}, False, True),
        (3, True, {"reflection": "elitist"}, True, True),
        (3, False, {"memory_in_crossover": False}, True, False),
        (1, True, {"memory_in_crossover": False}, True, True),
    ],
)
def test_a_memory_is_rewritten_after_enough_reports_or_in_elitist_rounds(
    make, pending: int, elitist: bool, changes: dict[str, Any], rewrites: bool, shows: bool
) -> None:
    trees = [tree(number) for number in range(2, 2 + pending)]
    run = make(*trees, replies=["New."], reflection_period=3, **changes)
    text = asyncio.run(reflection.update_memory(run, elitist=elitist))
    assert text == (("New." if rewrites else "Known.") if shows else "")
    assert len(run.asked) == rewrites
    assert [MemoryNote.load(note.text) for note in run.notes] == [MemoryNote("New.", 8)] * rewrites


@pytest.mark.parametrize(
    ("when", "elitist", "pending", "rewrites"),
    [("elitist", True, 1, True), ("elitist", False, 1, False), ("period", True, 1, False), ("elitist", True, 0, False)],
)
def test_an_elitist_round_may_learn_at_its_end(make, when: str, elitist: bool, pending: int, rewrites: bool) -> None:
    run = make(*[tree(5)] * pending, replies=["New."], reflection=when)
    asyncio.run(reflection.learn_from(run, elitist=elitist))
    assert [MemoryNote.load(note.text) for note in run.notes] == [MemoryNote("New.", 8, (9,))] * rewrites


def rewrite(run: Any, reports: int = 1, beyond: tuple[int, ...] = (), more: tuple[int, ...] = ()) -> str:
    known = LessonMemory("Old.", tuple(f"- report {number}" for number in range(reports)), beyond)
    return asyncio.run(reflection.rewrite_memory(run, known, more))


def test_many_reports_are_given_in_parts(make) -> None:
    run = make(replies=["First.", "Second."], memory_words=50)
    assert rewrite(run, MAX_REPORTS + 1) == "Second."
    assert [(role, temperature) for role, _, temperature in run.asked] == [("lead", 0.1)] * 2
    assert [values["memory"] for _, values in run.filled] == ["Old.", "First."]
    assert [values["reports"].count("report") for _, values in run.filled] == [MAX_REPORTS, 1]
    assert all("50" in values["words"] for _, values in run.filled)
    assert len(make(replies=["First."]).asked) == 0
    exact = make(replies=["First."])
    rewrite(exact, MAX_REPORTS)
    assert len(exact.asked) == 1


def test_an_empty_reply_leaves_the_memory_as_it_was(make) -> None:
    run = make(replies=["First.", " \n"])
    assert rewrite(run, MAX_REPORTS + 1) == "Old."
    assert run.notes == []


@pytest.mark.parametrize(
    ("words", "limit", "compresses"), [(20, 20, False), (21, 20, True), (300, None, False), (21, 21, False)]
)
def test_a_memory_beyond_its_limit_is_compressed(make, words: int, limit: int | None, compresses: bool) -> None:
    long = " ".join(["word"] * words)
    run = make(replies=[long, "Short."], memory_words=limit)
    assert rewrite(run) == ("Short." if compresses else long)
    assert [role for role, *_ in run.asked] == ["lead", *["reflect"] * compresses]
    if compresses:
        assert run.filled[-1][1] == {"memory": long, "words": limit}
    failing = make(replies=[long, ""], memory_words=limit)
    assert len(rewrite(failing).split()) == min(words, limit or words)
    # Words of a reply beyond eight times the limit are not read.
    longest = make(replies=[" ".join(["word"] * 9000), ""], memory_words=20)
    rewrite(longest)
    assert len(longest.filled[-1][1]["memory"].split()) == 160


def test_a_memory_names_the_later_rounds_that_it_includes(make) -> None:
    run = make(replies=["New."], horizon=5)
    rewrite(run, 1, (3, 5, 6, 8), (9, 6))
    (note,) = run.notes
    assert (note.kind, MemoryNote.load(note.text)) == (MEMORY, MemoryNote("New.", 5, (6, 8, 9)))


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        (5.0, 4.0, ["better"]),
        (5.0, 6.0, ["worse"]),
        (5.0, None, ["no more"]),
        (None, 4.0, ["4"]),
        (None, None, ["no more"]),
    ],
)
def test_a_lesson_is_asked_for_with_what_came_of_the_change(
    make, before: float | None, after: float | None, parts: list[str]
) -> None:
    run = make(replies=["Nearer is better."])
    earlier: Elite | Candidate = candidate("old", before, message="x is no number")
    if before is not None:
        earlier = Elite.of(candidate("old", before))
    lesson = asyncio.run(reflection.ask_lesson(run, earlier, candidate("new", after, message="no more")))
    assert lesson == "Nearer is better."
    assert [(role, temperature) for role, _, temperature in run.asked] == [("reflect", 0.2)]
    told = " ".join(map(str, run.filled[-1][1].values()))
    assert all(part in told for part in parts)
    assert ("5" if before is not None else "x is no number") in told
    assert ("better" in told) == (before is not None and after == 4.0)
