"""What the published strategies ask, word for word, on one small history."""

import asyncio

import numpy as np
import pytest

from oragent._base.budget import Spent
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.pool import JobPool
from oragent.search.archive import Archive
from oragent.search.candidate import Candidate, Committed, Elite
from oragent.search.folder import RunFolder
from oragent.search.round_context import RoundContext
from oragent.search.run_context import RunContext
from oragent.search.scoring import Scoring
from oragent.search.store import RoundNote, Store
from oragent.search.strategies import STRATEGIES
from oragent.search.strategies.reevo import JOINED
from tests.outlines import read_outlines
from tests.search.players import OUTLINES, golden_prompt
from tests.search.test_engine import scored
from tests.search.writer import Writer

NAMES = {
    ("reevo", 41, "reflect"): "reflect_long",
    ("levi", 1, "idea"): "seed",
    ("levi", 3, "code"): "variant",
    ("levi", 57, "reflect"): "advice",
    ("levi", 57, "idea"): "shift",
}
RICH = ("strategy.standing=true", "strategy.history=true", "strategy.features=true")  # as in a comparison
STYLES = {
    "small": ("model.style=small",),
    "strong": ("model.style=strong", *RICH),
    "paper": ("model.style=small", "strategy.show=paper", "strategy.features=true"),
}
LEVI = ("strategy.options.seeds=2", "strategy.options.variants=3")
AEL = ("strategy.options.first=3", "strategy.options.mutation=1")
PROGRAMS = (
    "x * 2.0",
    "x * 30",
    "x ** 4 + 3",
    "101 - x",
    "90 + 2 * x",
    "x * 33 + 2",
)  # the last three descend in a line
MEMORY = [
    *(RoundNote(number, "thought", f"print-{number} Number {number} in words.") for number in range(1, 6)),
    RoundNote(1, "child of the root", "print-1"),
    RoundNote(31, "short-term reflection", "Add what is missing."),
    RoundNote(33, "short-term reflection", "Powers grow too fast."),
    RoundNote(30, "long-term reflection", "Start near the answer."),
    RoundNote(30, JOINED, "29"),
]
ROUNDS = [
    ("random", 3, {"i1": 0}),
    ("funsearch", 8, {"code": 0}),
    *(("eoh", number, {operator: 0}) for number, operator in enumerate(("e1", "e2", "m1", "m2", "m3"), 7)),
    ("reevo", 8, {"initial": 0}),
    ("reevo", 32, {"reflect": 0, "crossover": 0}),
    ("reevo", 41, {"reflect": 0, "mutation": 0}),
    ("mcts_ahd", 2, {"e1": 0}),
    *(("tide", number, {f"tide_{name}": 0}) for number, name in enumerate(("m3", "e1", "e2", "m1", "m2"), 9)),
    ("tide", 8, {"reflect": 0}),
    ("levi", 1, {"idea": 1}),
    ("levi", 3, {"code": 0}),
    ("levi", 9, {"code": 0}),
    ("levi", 57, {"reflect": 0, "idea": 0}),
    ("ael", 2, {"ael_creation": 0}),
    ("ael", 8, {"ael_crossover": 0, "ael_mutation": 0}),
    ("mcts_ahd", 8, {"e2": -1, "m1": 0, "m2": 0, "s1": 0, "describe": 0}),
]


def remembered() -> list[Committed]:
    made = []
    for number, body in enumerate(PROGRAMS):
        value = eval(body, {"x": 3})
        parents = (f"{number - 1}.0",) if number > 2 else ("0.0",) if number else ()
        result = Evaluation(Status.OK, abs(100 - value), metrics={"value": value})
        source = f"def guess(x):\n    return {body}\n"
        made.append(
            Committed(
                id=f"{number}.0",
                candidate=Candidate(
                    source=source,
                    fingerprint=f"print-{number}",
                    parents=parents,
                    origin="m1",
                    island=0,
                    call=0,
                    evaluation=result,
                ),
                placed="NEW",
                elapsed_s=0.0,
            )
        )
    return made


def play(folder: RunFolder, number: int) -> Writer:
    """One round on the small history."""
    model, pool = Writer(), JobPool(1, scored)
    with Store(folder.database) as store:
        strategy, clock = STRATEGIES[folder.config.strategy_name], lambda: 0.0
        scoring = Scoring(folder.problem, folder.root, folder.config, store, pool, clock)
        context = RunContext(folder.problem, folder.config, strategy.own(folder.config), store, scoring, model, clock)
        context.history.extend([record] for record in remembered())
        archive, rng = Archive("minimize"), np.random.default_rng(5)
        for record in context.history:
            archive.add(Elite.of(record[0]), 0)
        allowance = Spent(50, 50, 10**6, 1.0, 1.0)
        run = RoundContext.opened(
            context,
            number,
            archive=archive,
            rng=rng,
            allowance=allowance,
            horizon=len(PROGRAMS) - 1,
            island=0,
            memory=MEMORY,
        )
        try:
            asyncio.run(strategy.round(run))
        finally:
            pool.close()
    return model


@pytest.mark.slow
@pytest.mark.parametrize("style", ["small", "strong", "paper"])
@pytest.mark.parametrize(("strategy", "number", "roles"), ROUNDS)
def test_prompts_have_their_sections_and_figures(
    begun, toy, strategy: str, number: int, roles: dict[str, int], style: str
) -> None:
    """To write them anew, set ORAGENT_WRITE_GOLDEN and read the difference."""
    (toy / "knowledge.md").write_text("Numbers below 200 are enough.\n")
    settings = (f"strategy.name={strategy}", "strategy.window=1", "archive.population=6", "archive.islands=1")
    settings += STYLES[style]
    settings += {"eoh": ("strategy.options.first=6",), "ael": AEL, "levi": LEVI}.get(strategy, ())
    model = play(begun(*settings, "model.name=writer"), number)
    for role, which in roles.items():
        prompt = model.prompts(role)[which]
        name = NAMES.get((strategy, number, role), role)
        golden_prompt(f"{style}/{strategy}_{name}", prompt)


def test_edits_are_offered_to_small_models_wherever_strong_ones_are_and_not_where_another_program_is_wanted() -> None:
    offered = {
        style: {
            name.partition("/")[2]
            for name, text in read_outlines(OUTLINES).items()
            if name.startswith(f"{style}/") and text.partition(" | ")[0].endswith("<<<")
        }
        for style in STYLES
    }
    assert offered["small"] == offered["strong"] - {"or_agent_experiment"}  # short programs are written out there
    assert offered["paper"] == set()
    assert {"or_agent_code", "or_agent_debug"} <= offered["small"]
    changing = ("ael_ael_mutation", "eoh_m1", "funsearch_code", "levi_variant", "reevo_crossover", "tide_tide_m1")
    assert set(changing) <= offered["small"]
    assert not {"eoh_e1", "levi_seed", "levi_shift", "mcts_ahd_e2", "reevo_initial", "random_i1"} & offered["small"]


def test_a_rejected_reply_is_answered_with_the_reason(begun, monkeypatch) -> None:
    monkeypatch.setattr(Writer, "_answer", lambda self, text, rng: "No idea.")
    model = play(begun("strategy.name=eoh", "archive.population=6", "model.name=writer"), 8)
    assert "That reply cannot be used: the reply holds no code" in model.prompts("repair")[0]
