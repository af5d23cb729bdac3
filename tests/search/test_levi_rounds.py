"""Rounds of LEVI: which step a round takes, and what its prompts show."""

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oragent._base.budget import Budget, Spent
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.archive import Archive
from oragent.search.candidate import PROBE, Candidate, Committed
from oragent.search.round_context import RoundContext
from oragent.search.run_context import RunContext
from oragent.search.store import RoundNote
from oragent.search.strategies import STRATEGIES, levi
from oragent.search.strategies.levi import ADVICE, RECENT, SEED, Cells, LeviSettings

BODIES = (
    "return x",
    "if x > 1:\n        x = x + 1\n    return x",
    "for i in range(3):\n        x = x * 2 + i\n    return x",
    "while x > 1:\n        x = x / 2 - 1\n    return x * 3 if x else 0",
)
# Shapes of programs from the smallest to the largest.
SOURCES = [f"def guess(x):\n    {body}\n" for body in BODIES]


def candidate(name: str, score: float | None, source: str, origin: str = "code") -> Candidate:
    status = Status.ERROR if score is None else Status.OK
    message = f"failure {name}" if score is None else ""
    evaluation = Evaluation(status, score, metrics={"moves": 77}, message=message)
    return Candidate(
        source=source, fingerprint=f"print_of_{name}", parents=(), origin=origin, island=0, call=0,
        evaluation=evaluation,
    )  # fmt: skip


def record(name: str, score: float | None, source: str = SOURCES[0], origin: str = "code") -> Committed:
    placed = "" if score is None else "NEW"
    return Committed(id=name, candidate=candidate(name, score, source, origin), placed=placed, elapsed_s=0.0)


class Asked(list[Any]):
    """Calls of the model for programs, each answered by a program."""

    def __init__(self, *answers: Candidate) -> None:
        super().__init__()
        self.answers = [*answers]

    async def __call__(
        self,
        run: Any,
        role: str,
        messages: Any,
        parents: Any,
        temperature: Any = None,
        base: Any = None,
        gate: Any = None,
    ) -> Candidate:
        text = messages[-1].content
        self.append(SimpleNamespace(role=role, text=text, parents=[elite.id for elite in parents], gate=gate))
        return self.answers.pop(0) if self.answers else candidate("new", None, SOURCES[0])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    calls = Asked()
    monkeypatch.setattr(levi, "ask_for_program", calls)
    return calls


def opened(begun: Any, records: list[Committed], *settings: str, notes: tuple[str, ...] = ()) -> RoundContext:
    folder = begun("strategy.name=levi", "model.name=m", *settings)
    own = STRATEGIES["levi"].own(folder.config)
    context = RunContext(folder.problem, folder.config, own, None, None, None, lambda: 0.0)
    context.history.extend([one] for one in records)
    rng = np.random.default_rng(1)
    run = RoundContext.opened(
        context,
        len(records),
        archive=Archive("minimize", 1),
        rng=rng,
        allowance=Spent(evaluations=99, model_calls=99, work=99.0),
        horizon=len(records) - 1,
        island=0,
    )
    parts = [note.partition(": ") for note in notes]
    run.memory = tuple(RoundNote(1, kind, text) for kind, _, text in parts)
    return run


def test_a_round_takes_the_step_of_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: dict[int, list[str]] = {}
    cells = object()

    def step(name: str) -> None:
        async def take(run: Any, *given: Any) -> None:
            assert given in ((), (cells, {0: "elite"}))
            steps.setdefault(run.turn, []).append(name)

        monkeypatch.setattr(levi, f"_{name}", take)

    for name in ("write_seeds", "write_variant", "write_advice", "shift_paradigm", "improve_elite"):
        step(name)
    monkeypatch.setattr(levi, "cell_elites", lambda run, first: (cells, {0: "elite"}) if first == 4 else None)
    own = LeviSettings(seeds=1, variants=3, shift=3, advice=4)
    settings = SimpleNamespace(budget=Budget(evaluations=1000))
    for turn in range(1, 17):
        run: Any = SimpleNamespace(turn=turn, own=own, settings=settings)
        asyncio.run(levi.play_round(run))
    assert steps == {
        1: ["write_seeds"], 2: ["write_variant"], 3: ["write_variant"], 4: ["write_variant"],
        5: ["improve_elite"], 6: ["improve_elite"], 7: ["shift_paradigm"], 8: ["write_advice", "improve_elite"],
        9: ["improve_elite"], 10: ["shift_paradigm"], 11: ["improve_elite"], 12: ["write_advice", "improve_elite"],
        13: ["shift_paradigm"], 14: ["improve_elite"], 15: ["improve_elite"], 16: ["write_advice", "shift_paradigm"],
    }  # fmt: skip


@pytest.mark.parametrize(("evaluations", "number"), [(1000, 80), (100, 20), (400, 80), (395, 79)])
def test_variants_take_at_most_a_fifth_of_the_budget(evaluations: int, number: int) -> None:
    run: Any = SimpleNamespace(own=LeviSettings(), settings=SimpleNamespace(budget=Budget(evaluations=evaluations)))
    assert levi.variant_count(run) == number


@pytest.mark.parametrize("show", ["paper", "all"])
@pytest.mark.parametrize("step", ["seeds", "variant", "improve", "shift", "refine"])
def test_prompts_show_scores_and_as_published_nothing_else(begun, asked: Asked, show: str, step: str) -> None:
    records = [record(f"{number}.0", 9.5 - number, source) for number, source in enumerate(SOURCES)]
    run = opened(begun, records, *(["strategy.show=paper"] if show == "paper" else []), "strategy.options.seeds=2")
    cells, holders = levi.cell_elites(run, 9)
    assert len(holders) == len(SOURCES)
    asked.answers = [candidate("a", 1.25, SOURCES[1]), candidate("b", 1.5, SOURCES[2])]
    if step == "seeds":
        asyncio.run(levi._write_seeds(run))
    elif step == "variant":
        asyncio.run(levi._write_variant(run))
    elif step == "improve":
        asyncio.run(levi._improve_elite(run, cells, holders))
    elif step == "shift":
        asyncio.run(levi._shift_paradigm(run, cells, holders))
    else:
        refine = levi._ask_for_child(run, "code", "levi_refine", [asked.answers[0]])
        asyncio.run(refine)
    # Only the first request for seeds shows no program.
    text = asked[step == "seeds"].text
    assert ("score 1.25" if step in ("seeds", "refine") else "score 9.5" if step == "variant" else "score ") in text
    assert ("moves 77" in text) == (show == "all")
    assert "A lower score is better." in text
    assert [call.role for call in asked[:2]] == {
        "seeds": ["idea", "idea"], "shift": ["idea", "code"]
    }.get(step, ["code"])  # fmt: skip


@pytest.mark.parametrize("marked", [(), ("0.0",), ("1.0", "3.0"), ("0.0", "2.0", "3.0")])
def test_a_variant_shows_two_seeds_the_worse_first(begun, asked: Asked, marked: tuple[str, ...]) -> None:
    records = [record(f"{number}.0", 9.0 - number, source) for number, source in enumerate(SOURCES)]
    run = opened(begun, records, notes=tuple(f"{SEED}: print_of_{name}" for name in marked))
    for _ in range(40):
        asyncio.run(levi._write_variant(run))
    shown = {tuple(call.parents) for call in asked}
    pairs = {(first, second) for first in marked for second in marked if first < second}
    assert shown == (pairs if len(marked) > 1 else {marked or ("0.0",)})


@pytest.mark.parametrize("advised", [False, True])
def test_an_improvement_shows_an_elite_and_often_another_and_the_latest_advice(
    begun, asked: Asked, advised: bool
) -> None:
    records = [record(f"{number}.0", 9.0 - number, source) for number, source in enumerate(SOURCES)]
    notes = (f"{ADVICE}: old words", f"{ADVICE}: Try less.") if advised else ()
    run = opened(begun, records, "strategy.options.shown=0.75", "strategy.options.temperatures=[0.5]", notes=notes)
    cells, holders = levi.cell_elites(run, 9)
    for _ in range(600):
        asyncio.run(levi._improve_elite(run, cells, holders))
    share = sum(len(call.parents) == 2 for call in asked) / 600
    assert share == pytest.approx(0.75, abs=0.06)
    assert all(len(set(call.parents)) == len(call.parents) for call in asked)
    counted = Counter(call.parents[-1] for call in asked)
    weights = np.exp((np.arange(4) / 3 - 1) / 0.5)
    for number, weight in enumerate(weights / weights.sum()):
        assert counted[f"{number}.0"] / 600 == pytest.approx(weight, abs=0.07)
    others = Counter(call.parents[0] for call in asked if len(call.parents) == 2 and call.parents[1] == "3.0")
    assert set(others) == {"0.0", "1.0", "2.0"}
    assert sum("Try less." in call.text for call in asked) / 600 == pytest.approx(0.75 * advised, abs=0.06)
    assert not any("old words" in call.text for call in asked)
    assert all(call.gate is None for call in asked)
    alone = opened(begun, records[:1])
    asyncio.run(levi._improve_elite(alone, *levi.cell_elites(alone, 9)))
    assert asked[-1].parents == ["0.0"]


def test_the_gate_of_an_improvement_is_that_of_the_first_programs(
    begun, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [record("0.0", 9.0)]
    run = opened(begun, records, "strategy.options.proxy=true", "budget.evaluations=50")
    cells, holders = levi.cell_elites(run, 9)
    monkeypatch.setattr(levi, "proxy_gate", lambda *given: given)
    asyncio.run(levi._improve_elite(run, cells, holders))
    assert asked[0].gate == (run, 11, cells, holders)


@pytest.mark.parametrize(
    ("score", "source", "refined"),
    [(5.0, SOURCES[1], 2), (6.0, SOURCES[1], 0), (7.0, SOURCES[1], 0), (99.0, SOURCES[2], 2), (None, SOURCES[2], 0)],
)
def test_a_new_paradigm_that_enters_the_archive_is_refined(
    begun, asked: Asked, score: float | None, source: str, refined: int
) -> None:
    records = [record(f"{number}.0", 7.0 - number, source) for number, source in enumerate(SOURCES[:3])]
    run = opened(begun, records, "strategy.options.refinements=2", "strategy.options.regions=2")
    cells, holders = levi.cell_elites(run, 9)
    del holders[cells.cell(SOURCES[2])]
    asked.answers = [candidate("new", score, source)]
    asyncio.run(levi._shift_paradigm(run, cells, holders))
    representatives = levi.region_representatives(run, cells, holders)
    assert (asked[0].role, asked[0].parents) == ("idea", [one.id for one in representatives])
    assert len(asked) == 1 + refined
    assert all(call.role == "code" and len(call.parents) == 1 for call in asked[1:])
    assert all(source.strip() in call.text for call in asked[1:])


@pytest.mark.parametrize("words", ["Try less.", ""])
def test_advice_follows_from_the_latest_programs(begun, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    records = [record("0.0", 3.0), *(record(f"{number}.0", 50.0 + number) for number in range(1, RECENT + 1))]
    for number in range(RECENT - 7, RECENT):
        records[number] = record(f"{number}.0", None)
    records[RECENT - 1] = record(f"{RECENT - 1}.0", None, origin=PROBE)
    run = opened(begun, records)
    prompts: list[tuple[str, str]] = []

    async def ask(role: str, messages: Any) -> Any:
        prompts.append((role, messages[-1].content))
        return SimpleNamespace(text=words)

    monkeypatch.setattr(run, "ask", ask, raising=False)
    asyncio.run(levi._write_advice(run))
    ((role, text),) = prompts
    assert role == "reflect"
    latest = [one for one in records if one.candidate.origin != PROBE][-RECENT:]
    failures = [one.candidate.evaluation.message for one in latest if one.score is None]
    assert len(failures) == 6
    numbers = {int(word.strip(".,;:")) for word in text.split("\n- ")[0].split() if word.strip(".,;:").isdigit()}
    assert {len(latest), len(failures)} <= numbers
    lines = text.splitlines()
    assert [line.removeprefix("- ") for line in lines if line.startswith("- ")] == failures[-5:]
    assert ", ".join(f"{one.score:.6g}" for one in latest if one.score is not None) in lines
    assert any(line.split(";")[0].endswith(" 3") for line in lines)
    assert [(note.kind, note.text) for note in run.notes] == ([(ADVICE, words)] if words else [])


def test_cells_are_those_of_the_first_programs_and_hold_the_best_of_all(begun) -> None:
    records = [record("0.0", 9.0, SOURCES[0]), record("1.0", 8.0, SOURCES[3]), record("2.0", 7.0, SOURCES[0])]
    run = opened(begun, records)
    cells, holders = levi.cell_elites(run, 1)
    expected = Cells.of(SOURCES[:1] + SOURCES[3:], run.own.cells)
    assert np.allclose(cells.centroids, expected.centroids)
    assert {one.id for one in holders.values()} == {"2.0", "1.0"}
