"""Check that the seed heuristic is a function of its arguments, without randomness or memory of other calls."""

from typing import Any

from oragent._base.protocol import Status
from oragent.authoring.bench import ScoringBench, Seed
from oragent.authoring.finding import ContractFinding, Level
from oragent.evaluation import Evaluation
from oragent.evaluation.offers import AUDIT, describe_missing, find_options
from oragent.programs.randomness import find_unseeded

TITLE = "function of its arguments"
DECISIONS, QUICK_DECISIONS = 300, 50
PATIENCE = 10  # an audit starts a process for every decision
OF_THE_EVALUATOR = "what differs from one evaluation to the next comes from the evaluator"
SEEDED = "draw from a generator with a fixed seed, np.random.default_rng(0), made anew in every call"
STATELESS = (
    "it remembers: calls in another order get other answers. Keep nothing between calls, in globals, attributes, "
    "default arguments or caches that answers depend on"
)


def describe_randomness(source: str, language: str = "python") -> str:
    """Describe the random parts in a heuristic's text; empty if there are none."""
    sources = find_unseeded(source, language)
    return f"the candidate itself is random, and not the evaluator: {sources}" if sources else ""


def check_function(bench: ScoringBench, seed: Seed, quick: bool) -> ContractFinding:
    """Put decisions of the seed to processes that know one call's arguments each, in mode train.

    A mismatch means chance or memory: two evaluations that differ tell of chance, two that are equal of memory.
    """
    if complaint := describe_randomness(bench.problem.seed, bench.problem.signature.language):
        return ContractFinding(Level.FAILURE, TITLE, complaint)
    if AUDIT not in find_options(bench.problem, bench.root, bench.score):
        unknown = f"its text takes nothing from chance or the clock that can be seen; {describe_missing(AUDIT)}"
        return ContractFinding(Level.OK, TITLE, unknown)
    decisions = QUICK_DECISIONS if quick else DECISIONS
    audit = bench.run(mode="train", arguments=(f"{AUDIT}={decisions}",), patience=PATIENCE)
    if audit.status is Status.OK:
        same = (
            f"{audit.metrics.get('audited', decisions)} decisions, each put to a process of its own, are the same there"
        )
        return ContractFinding(
            Level.OK, TITLE, same if audit.score == seed.train.score else f"{same}; {OF_THE_EVALUATOR}"
        )
    if audit.status is not Status.REJECTED:
        return ContractFinding(Level.WARNING, TITLE, f"the audit ended as {audit.status}: {audit.message}")
    random = _are_different(seed.train, bench.run(mode="train"))
    why = f"it is random: evaluated twice, it is scored otherwise; {SEEDED}" if random else STATELESS
    return ContractFinding(Level.FAILURE, TITLE, f"{audit.message}\n{why}".strip())


def _are_different(first: Evaluation, second: Evaluation) -> bool:
    return _comparable_result(first) != _comparable_result(second)


def _comparable_result(ended: Evaluation) -> tuple[Any, ...]:
    """Return score, cell and figures without times, which always differ."""
    figures = {name: value for name, value in ended.metrics.items() if not name.endswith("seconds")}
    return ended.score, ended.features, figures
