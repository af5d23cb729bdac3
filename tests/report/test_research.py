"""A report shows what research rounds wrote down: the memory, and the trees of ideas."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from oragent._base.budget import Spent
from oragent._base.errors import StoreError
from oragent.report.live.offline import write_report
from oragent.report.run import load_run
from oragent.search.round_context import RoundContext
from oragent.search.store import RoundNote, Store
from oragent.search.strategies.or_agent.allocation import PRIORS, ActionKind, ActionRecord, choose_action

from . import runs
from .test_page import printed

ATTACK = '</pre><script>alert("x")</script>\x1b[31m'
STEPS = [
    {"kind": "edit", "change": "steeper", "outcome": "score 6.5", "better": True, "lesson": "It helps."},
    {"kind": "probe", "change": "see d", "outcome": "score 6.5", "better": False, "lesson": ""},
    {"kind": "tune", "change": "c0 over 24 evaluations", "outcome": "score 6.6", "better": False, "lesson": "Flat."},
]


def node(number: int, parent: int | None, state: str, score: float | None, **more: object) -> dict[str, object]:
    values = {
        "title": f"idea {number}",
        "idea": "How to do it.",
        "candidate": None,
        "failure": "",
        "steps": [],
        "report": "",
        "better": state in ("open", "grown", "closed"),
    }
    return values | {"number": number, "parent": parent, "state": state, "score": score} | more


def tree(*nodes: dict[str, object], elitist: bool = False) -> str:
    start = node(0, None, "grown", 6.9)
    return json.dumps({"elitist": elitist, "start": ["0.0", "1.0"], "nodes": [start, *nodes]})


def noted(folder: Path, *notes: RoundNote) -> Path:
    runs.describe(folder)
    runs.write(folder, runs.searched(5))
    with Store(folder / "run.db") as store:
        store.commit(99, [], Spent(), 100.0, notes)
    return folder


def test_ideas_stand_below_what_they_start_from_with_outcome_and_report(tmp_path: Path) -> None:
    nodes = (
        node(1, 0, "grown", 6.5, candidate="3.1", report="Steeper helps.", steps=STEPS),
        node(2, 0, "failed", None, failure="error: division by zero"),
        node(3, 1, "worse", 6.55, candidate="3.4"),
        node(4, 0, "untried", None),
    )
    folder = noted(
        tmp_path,
        RoundNote(99, "tree", tree(*nodes)),
        RoundNote(99, "memory", json.dumps({"text": "Use 1/d**2.", "horizon": 99})),
    )
    found = load_run(folder).research
    assert (found.ideas, found.better, found.memory) == (3, 1, "Use 1/d**2.")
    branches = found.trees[0].branches
    assert [(b.title, b.depth, b.verdict) for b in branches] == [
        ("idea 1", 1, "better"), ("idea 3", 2, "not better"), ("idea 2", 1, "failed"), ("idea 4", 1, "not tried"),
    ]  # fmt: skip
    inside = runs.data_of(write_report(folder).read_text())["ideas"]["research"]
    assert (inside["ideas"], inside["better"], inside["untried"], inside["memory"]) == (3, 1, 1, "Use 1/d**2.")
    (first,) = inside["trees"]
    assert (first["round"], first["start"], len(first["branches"])) == (99, "parents 0.0 and 1.0", 4)
    for part in (
        "Steeper helps.", "error: division by zero", "edit: steeper → score 6.5, kept. It helps.", "probe: see d → score 6.5.",
        "tune: c0 over 24 evaluations → score 6.6, taken back. Flat.",
    ):  # fmt: skip
        assert part in json.dumps(first, ensure_ascii=False)
    shown = printed(folder, 100)
    assert "3 ideas tried, 1 of them better" in shown
    assert "Use 1/d**2." in shown


def test_an_idea_that_goes_on_although_it_is_worse_is_not_better(tmp_path: Path) -> None:
    states = [("open", True), ("open", False), ("grown", False), ("closed", True), ("worse", False)]
    nodes = [node(at, 0, state, 7.0, better=better) for at, (state, better) in enumerate(states, 1)]
    found = load_run(noted(tmp_path, RoundNote(99, "tree", tree(*nodes)))).research
    assert [branch.verdict for branch in found.trees[0].branches] == [
        "better", "not better", "not better", "better", "not better",
    ]  # fmt: skip
    assert (found.ideas, found.better) == (5, 2)


def test_only_the_latest_trees_are_shown(tmp_path: Path) -> None:
    folder = noted(tmp_path, *(RoundNote(99, "tree", tree(node(1, 0, "worse", 7.0))) for _ in range(13)))
    found = load_run(folder).research
    assert (len(found.trees), found.left_out, found.ideas) == (10, 3, 13)


def test_a_run_of_another_strategy_has_no_such_section(run: Path, report: Path) -> None:
    assert load_run(run).research is None
    assert runs.data_of(report.read_text())["ideas"] == {"research": None, "memory": []}


def test_nothing_that_a_model_wrote_leaves_its_place(tmp_path: Path) -> None:
    hostile = node(1, 0, "open", 6.0, title=ATTACK, idea=ATTACK, report=ATTACK, candidate=ATTACK, steps=STEPS)
    folder = noted(
        tmp_path,
        RoundNote(99, "tree", tree(hostile)),
        RoundNote(99, "memory", json.dumps({"text": ATTACK, "horizon": 3})),
    )
    text = write_report(folder).read_text()
    assert "<script>alert" not in text
    (tree_shown,) = runs.data_of(text)["ideas"]["research"]["trees"]
    assert tree_shown["branches"][0]["title"] == ATTACK.replace("\x1b", "\\u001b")
    assert "\x1b[31m" not in printed(folder, 100)


def test_broken_notes_are_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        load_run(noted(tmp_path, RoundNote(99, "tree", '{"nodes": 3}')))


def test_actions_are_summed_by_kind_with_their_cost_and_gain(tmp_path: Path) -> None:
    written = [("opening", 4, 1000, 5.0), ("edit", 3, 400, 1.0), ("edit", 3, 600, 0.5), ("sweep", 1, 0, 0.25)]
    texts = [json.dumps(dict(zip(("action", "programs", "tokens", "gain"), row, strict=True))) for row in written]
    found = load_run(noted(tmp_path, *(RoundNote(90 + at, "action", text) for at, text in enumerate(texts)))).research
    assert found is not None
    assert [(row.action, row.rounds, row.programs, row.tokens, row.gain) for row in found.actions] == [
        ("opening", 1, 4, 1000, 5.0), ("edit", 2, 6, 1000, 1.5), ("sweep", 1, 1, 0, 0.25),
        ("crossover", 0, 0, 0, 0.0), ("idea", 0, 0, 0, 0.0), ("restart", 0, 0, 0, 0.0),
    ]  # fmt: skip
    assert [row.gain_per_token for row in found.actions][:3] == ["5", "1.5", "no tokens"]


def test_the_index_of_an_action_is_that_by_which_the_next_one_is_chosen(tmp_path: Path) -> None:
    written = [("opening", 4, 1000, 5.0), ("edit", 3, 400, 1.0), ("edit", 3, 600, 0.5), ("sweep", 1, 0, 0.25)]
    records = [ActionRecord(ActionKind(row[0]), *row[1:]) for row in written]
    notes = [RoundNote(90 + at, "action", record.dump()) for at, record in enumerate(records)]
    found = load_run(noted(tmp_path, *notes)).research
    assert found is not None
    indices = {row.action: row.index for row in found.actions}
    assert indices.pop("opening") is None
    chosen = choose_action(cast("RoundContext", SimpleNamespace(recall=lambda kind: notes)), list(PRIORS))
    assert max(indices, key=lambda action: indices[action] or 0.0) == chosen
    assert set(indices) == set(PRIORS)
