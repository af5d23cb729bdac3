"""The fresh set, drawn from the operating system's entropy after a run, so that no candidate can know it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from oragent._base.direction import Direction
from oragent._base.errors import ProblemError, StoreError
from oragent._base.safe_load import load_yaml
from oragent._base.statistics import ALPHA, describe_shortage, pairs_needed
from oragent._base.text_format import escape_text
from oragent.evaluation.capabilities import FRESH_SEED
from oragent.report.held_out import DAMAGED, HeldOutScorer, best_text, hash_best, paired_figures, write_record
from oragent.report.pages.text import measure_gain
from oragent.report.significance import (
    BY_INSTANCE,
    LEVEL,
    MeasuredScore,
    Paired,
    compare_sizes,
    gain_probability,
    read_paired,
    score_probability,
)
from oragent.search.protected_sets import find_loss

FILE = "fresh.yaml"
# Key of the file with the reason for a missing score, and maximum length of the reason.
FAILED, MAX_REASON = "failed", 600
WORDS = {"test": "held out (test)", "fresh": "fresh"}
PLACES = {"test": "test", "fresh": "the fresh set"}
# Prefix of figures that are gaps to a reference value, in percent.
GAP = "gap_percent_"


@dataclass(frozen=True)
class Sets:
    """Scores of seed and best program on the validation, held-out and fresh sets.

    Attributes:
        scores: Scores of seed and best program by the name of the set, in the order ``val``, ``test``, ``fresh``.
        seed: Seed with which the fresh set can be drawn again. None if it was not drawn.
        pairs: Test of best against seed, instance by instance, by the name of the set. Only for sets with the test.
        figures: For each set by name, the names of all other numeric figures with the values of seed and best.
        kinds: Kinds of the named sets, which follow in ``scores``, by name.
        losses: Reasons why the best program loses on protected sets, by name.
    """

    direction: Direction
    scores: dict[str, tuple[MeasuredScore, MeasuredScore]]
    seed: int | None
    pairs: Mapping[str, Paired] = field(default_factory=dict)
    figures: Mapping[str, Sequence[tuple[str, float, float]]] = field(default_factory=dict)
    # Test at each size, by the name of the set. Only for sets with several sizes.
    by_size: Mapping[str, Mapping[str, Paired]] = field(default_factory=dict)
    # Sizes by the name of the set, as the evaluator names them.
    sizes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    losses: Mapping[str, str] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        """Conclusions from the figures in words."""
        verdicts = [sentence for name in self.scores if name != "val" for sentence in self._describe_all(name)]
        lost = [f"PROTECTED SET {name} IS LOST: the best has {reason}" for name, reason in self.losses.items()]
        return [*verdicts, *self._compare_sets(), *lost]

    def _name_set(self, name: str) -> str:
        if name not in self.kinds:
            return WORDS[name]
        return f"set {name} (out of distribution)" if self.kinds[name] == "ood" else f"set {name}"

    def _describe_all(self, name: str) -> list[str]:
        sentences = [self._describe_set(name)]
        if sizes := self.by_size.get(name):
            parts = [f"{size}: {_describe_size(pair)}" for size, pair in sizes.items()]
            sentences.append(f"{self._name_set(name)} by size: {'; '.join(parts)}")
        gaps = [row for row in self.figures.get(name, ()) if row[0].startswith(GAP)]
        if gaps:
            parts = [f"{gap.removeprefix(GAP)}: {best:+.3g} % (seed {seed:+.3g} %)" for gap, seed, best in gaps]
            sentences.append(
                f"{self._name_set(name)}, gap to the reference of the problem, below 0 is better: {'; '.join(parts)}"
            )
        return sentences

    def _describe_set(self, name: str) -> str:
        seed, best = self.scores[name]
        head = f"{self._name_set(name)}: the best is {measure_gain(self.direction, seed.score, best.score).sentence}"
        if (pair := self.pairs.get(name)) is not None:
            interval = ""
            if pair.low is not None and pair.high is not None:
                interval = f"; 95 % interval of the gain {pair.low:.4g} to {pair.high:.4g}"
            return f"{head}, {pair.counts}{interval}: {pair.verdict}"
        chance = score_probability(self.direction, best, seed)
        if chance is None:
            return f"{head}; without intervals, chance cannot be excluded"
        unpaired = "unpaired, because the evaluator prints no values of instances"
        # Both sides.
        p = 2 * min(chance, 1 - chance)
        if p >= ALPHA:
            return f"{head}: not shown to differ from the seed (p = {p:.2g}; {unpaired})"
        better = "better" if self.direction.better(best.score, seed.score) else "WORSE"
        return f"{head}: {better} than the seed, and not by chance (p = {p:.2g}; {unpaired})"

    def _compare_sets(self) -> list[str]:
        pairs = [("val", "test"), ("test", "fresh"), ("val", "fresh")]
        sentences = [self._compare_pair(*pair) for pair in pairs if all(name in self.scores for name in pair)]
        if "fresh" in self.scores:
            sentences.append(f"the fresh set can be drawn again with {FRESH_SEED}={self.seed}")
        return sentences

    def _compare_pair(self, name: str, fresh_name: str) -> str:
        """Compare the gain on a set with that on a set to which the search cannot have fitted its programs."""
        reference, fresh = self.scores[name], self.scores[fresh_name]
        first, second = self.sizes.get(name, ()), self.sizes.get(fresh_name, ())
        # Scores can be compared if distribution, sizes and number of instances are equal.
        if name == "test" and first == second:
            chance = score_probability(self.direction, reference[1], fresh[1])
        else:
            chance = gain_probability(self.direction, reference, fresh)
        gains = [measure_gain(self.direction, seed.score, best.score) for seed, best in (reference, fresh)]
        text = f"on {name} the best is {gains[0].sentence}, on {PLACES[fresh_name]} {gains[1].sentence}"
        if first != second and first and second:
            text += f" (sizes {', '.join(first)} and {', '.join(second)})"
        if gains[0].amount > 0 > gains[1].amount:
            text = f"THE GAIN DOES NOT CARRY OVER: {text}"
        if chance is None:
            return f"{text}; the evaluator prints no intervals, so chance cannot be excluded"
        if chance >= LEVEL:
            return f"{text}: the sets agree within chance (p = {chance:.2g})"
        odds = f"p < {LEVEL:g}" if chance < LEVEL / 1000 else f"p = {chance:.1g}"
        if first != second:
            why = "the sizes differ, or it is fitted to val"
        elif name == "test":
            why = "it knows the test set"
        else:
            why = "it is fitted to val, or knows it"
        return f"BEYOND CHANCE: {text} ({odds}): {why}, so its gain there is not its real gain"


def score_fresh(path: Path, scorer: HeldOutScorer) -> dict[str, Any] | None:
    """Score a run's best program and its seed on a fresh set, once per best program. Write ``fresh.yaml``.

    The best program is scored first. The random seed of the set is drawn after the program was loaded, so the program
    cannot contain it. The seed heuristic is scored on the same set. A failure is final; otherwise a
    program could fail until a set suits it.

    Returns:
        ``fresh_seed``, and the figures of ``seed`` and ``best``. None if the evaluator has no fresh set.

    Raises:
        ProblemError: The best program has no score on its fresh set, in this or an earlier call.
    """
    if FRESH_SEED not in scorer.offers:
        return None
    text = best_text(path)
    if (recorded := read_fresh(path)) is not None:
        return recorded
    if reason := _read_failure(path):
        raise ProblemError(f"{reason}; only the first fresh set counts; to draw another one, remove {path / FILE}")
    evaluation = scorer.evaluate(text, "fresh")
    try:
        best = scorer.read_figures(evaluation, "fresh")
    except ProblemError as problem:
        write_record(path, FILE, {FAILED: str(problem)[:MAX_REASON]})
        raise
    drawn = int(best["fresh_seed"])
    seed = scorer.score(scorer.seed, "fresh", f"{FRESH_SEED}={drawn}")
    figures = {"fresh_seed": drawn, "seed": seed, "best": best, "paired": paired_figures(scorer, seed, best)}
    write_record(path, FILE, figures)
    return figures


def read_fresh(path: Path) -> dict[str, Any] | None:
    """Return the stored figures of the fresh set for the present best program. A damaged file raises StoreError."""
    file = path / FILE
    if not file.is_file():
        return None
    try:
        figures = load_yaml(file)
        if FAILED in figures:
            return None
        for name in ("seed", "best"):
            MeasuredScore.from_figures(figures[name])
        int(figures["fresh_seed"])
        read_paired(figures.get("paired"))
        current = figures["program"] == hash_best(path)
    except DAMAGED as problem:
        reason = f"{type(problem).__name__} {' '.join(str(problem).split())[:200]}"
        raise StoreError(
            f"{file} cannot be read ({reason}): remove it; 'oragent report --test' draws a new set"
        ) from None
    if current:
        return dict(figures)
    return None


def _read_failure(path: Path) -> str:
    """Return the reason why a program has no score on its fresh set; empty if none is recorded."""
    file = path / FILE
    figures = load_yaml(file) if file.is_file() else {}
    return str(figures.get(FAILED, "")) if figures.get("program") == hash_best(path) else ""


def collect_sets(
    direction: Direction,
    val: tuple[dict[str, Any], dict[str, Any]],
    test: dict[str, Any] | None,
    drawn: dict[str, Any] | None,
    named: Mapping[str, dict[str, Any]] = MappingProxyType({}),
) -> Sets:
    """Combine the figures of a run's seed and best program."""
    figures_by_set = {"val": val}
    unsearched = {"test": test, "fresh": drawn, **named}
    for name, figures in unsearched.items():
        if figures is not None:
            figures_by_set[name] = figures["seed"], figures["best"]
    scores = {
        name: (MeasuredScore.from_figures(pair[0]), MeasuredScore.from_figures(pair[1]))
        for name, pair in figures_by_set.items()
    }
    tested = {name: read_paired((figures or {}).get("paired")) for name, figures in unsearched.items()}
    protected = [name for name, figures in named.items() if figures["protected"]]
    losses = {name: find_loss(direction, *figures_by_set[name]) for name in protected}
    return Sets(
        direction,
        scores,
        None if drawn is None else int(drawn["fresh_seed"]),
        {name: pair for name, pair in tested.items() if pair is not None},
        {name: _list_numbers(*pair) for name, pair in figures_by_set.items() if name != "val"},
        {name: compare_sizes(direction, *pair) for name, pair in figures_by_set.items() if name != "val"},
        {name: _read_sizes(pair[1]) for name, pair in figures_by_set.items()},
        {name: str(figures["kind"]) for name, figures in named.items()},
        {name: reason for name, reason in losses.items() if reason},
    )


def _read_sizes(figures: dict[str, Any]) -> tuple[str, ...]:
    values = figures.get(BY_INSTANCE)
    if isinstance(values, Mapping):
        return tuple(escape_text(str(size)) for size in values)
    return ()


def _describe_size(pair: Paired) -> str:
    if pair.p is None or pair.p >= ALPHA:
        shortage = describe_shortage(pair.instances, pairs_needed())
        return f"gain {pair.gain:.4g}, {shortage or 'not shown to differ'}"
    return f"gain {pair.gain:.4g}, {'better' if pair.gain > 0 else 'WORSE'}"


def _list_numbers(seed: dict[str, Any], best: dict[str, Any]) -> list[tuple[str, float, float]]:
    """Return the numbers that both have, except score and times."""
    names = [name for name in best if name in seed and name != "score" and not str(name).endswith("seconds")]
    pairs = [(str(name), seed[name], best[name]) for name in names if name not in (BY_INSTANCE, "fresh_seed")]
    return [pair for pair in pairs if all(type(value) in (int, float) for value in pair[1:])]
