"""The fresh set: drawn from the operating system's entropy when a run is over, so that no candidate can know it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from oragent._base import files
from oragent._base.direction import Direction
from oragent._base.errors import StoreError
from oragent._base.statistics import ALPHA
from oragent.evaluation.offers import FRESH_SEED
from oragent.report.chance import LEVEL, MeasuredScore, beyond_gain, beyond_score
from oragent.report.held_out import HeldOutScorer, best_text, digest, paired_figures
from oragent.report.pages.format import gain
from oragent.report.paired import BY_INSTANCE, Paired, kept

FILE = "fresh.yaml"
WORDS = {"test": "held out (test)", "fresh": "fresh"}


@dataclass(frozen=True)
class Sets:
    """What seed and best program reach on sets that a search reads, may have known, and cannot have known.

    Attributes:
        direction: Direction of the scores.
        scores: By the name of the set, ``val``, ``test`` and ``fresh`` in this order: those of seed and best.
        seed: Seed by which the fresh set is drawn again; None where there is none.
        pairs: By the name of the set: the test of best against seed, instance by instance; only where there is one.
        figures: By the name of the set: name and values, of seed and best, of every other figure that is a number.
    """

    direction: Direction
    scores: dict[str, tuple[MeasuredScore, MeasuredScore]]
    seed: int | None
    pairs: Mapping[str, Paired] = field(default_factory=dict)
    figures: Mapping[str, Sequence[tuple[str, float, float]]] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        """What the figures mean, in words."""
        verdicts = [self._verdict(name) for name in ("test", "fresh") if name in self.scores]
        return [*verdicts, *self._between()]

    def _verdict(self, name: str) -> str:
        """Whether the best program is better than the seed on a set, and how sure that is."""
        seed, best = self.scores[name]
        head = f"{WORDS[name]}: the best is {gain(self.direction, seed.score, best.score).sentence}"
        if (pair := self.pairs.get(name)) is not None:
            interval = f"95 % interval of the gain {pair.low:.4g} to {pair.high:.4g}"
            return f"{head}, {pair.counts}; {interval}: {pair.verdict}"
        chance = beyond_score(self.direction, best, seed)
        if chance is None:
            return f"{head}; without intervals nobody can tell whether that is chance"
        unpaired = "as if the instances were different ones, as the evaluator does not tell what each came to"
        if min(chance, 1 - chance) >= ALPHA / 2:
            return f"{head}: not shown to differ from the seed (p = {2 * min(chance, 1 - chance):.2g}; {unpaired})"
        better = "better" if chance < ALPHA / 2 else "WORSE"
        return f"{head}: {better} than the seed, and not by chance (p = {2 * min(chance, 1 - chance):.2g}; {unpaired})"

    def _between(self) -> list[str]:
        """Whether what the best gained on sets that it may know is what it gains on one that it cannot know."""
        if "fresh" not in self.scores:
            return []
        told = [sentence for name in ("test", "val") if name in self.scores and (sentence := self._against(name))]
        return [*told, f"the fresh set can be drawn again with {FRESH_SEED}={self.seed}"]

    def _against(self, name: str) -> str:
        known, fresh = self.scores[name], self.scores["fresh"]
        if name == "test":  # of the same law, the same sizes, as many instances
            chance = beyond_score(self.direction, known[1], fresh[1])
        else:
            chance = beyond_gain(self.direction, known, fresh)
        gains = [gain(self.direction, seed.score, best.score).sentence for seed, best in (known, fresh)]
        told = f"on {name} the best is {gains[0]}, on the fresh set {gains[1]}"
        if chance is None:
            return f"{told}; without intervals nobody can tell whether that is chance"
        if chance >= LEVEL:
            return f"{told}: the sets agree within chance (p = {chance:.2g})"
        odds = f"p < {LEVEL:g}" if chance < LEVEL / 1000 else f"p = {chance:.1g}"
        why = "it knows the test set" if name == "test" else "it is fitted to val, or knows it"
        return f"BEYOND CHANCE: {told} ({odds}): {why}, and what it gained there is not what it is worth"


def fresh(path: Path, scorer: HeldOutScorer) -> dict[str, Any] | None:
    """Score a run's best program and its seed on a fresh set, once for each best program; kept as ``fresh.yaml``.

    The best program goes first, and the seed of the set is drawn after the program was loaded, so that it cannot have
    it; the seed heuristic gets the same set.

    Returns:
        ``fresh_seed``, and figures of ``seed`` and ``best``; None where the evaluator offers no fresh set.

    Raises:
        StoreError: if there is no such run, no best program, or ``fresh.yaml`` cannot be read.
        ProblemError: if the problem changed since, or a program fails on the set.
    """
    if FRESH_SEED not in scorer.offers:
        return None
    text = best_text(path)
    if (known := read(path)) is not None:
        return known
    best = scorer.score(text, "fresh")
    drawn = int(best["fresh_seed"])
    seed = scorer.score(scorer.seed, "fresh", f"{FRESH_SEED}={drawn}")
    found = {"fresh_seed": drawn, "program": digest(text), "seed": seed, "best": best}
    found["paired"] = paired_figures(scorer, seed, best)
    files.replace(path / FILE, yaml.safe_dump(found, sort_keys=False))
    return found


def read(path: Path) -> dict[str, Any] | None:
    """What a run's folder holds of a fresh set, for its best program of today; None where that is nothing.

    Raises:
        StoreError: if the file is not what we left.
    """
    file = path / FILE
    if not file.is_file():
        return None
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
        for name in ("seed", "best"):
            MeasuredScore.of(found[name])
        int(found["fresh_seed"])
        kept(found.get("paired"))
        current = found["program"] == digest(best_text(path))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as problem:
        told = f"{type(problem).__name__} {' '.join(str(problem).split())[:200]}"
        raise StoreError(f"{file} cannot be read ({told}): remove it, and 'oragent report --test' draws anew") from None
    return dict(found) if current else None


def sets(
    direction: Direction,
    val: tuple[dict[str, Any], dict[str, Any]],
    test: dict[str, Any] | None,
    drawn: dict[str, Any] | None,
) -> Sets:
    """Put side by side what is known of a run's seed and best.

    Args:
        direction: Direction of the scores.
        val: Figures of seed and best on ``val``.
        test: Figures of both on ``test``; None where nobody asked for it.
        drawn: Figures of both on a fresh set, with its seed; None likewise.
    """
    found = {"val": val}
    for name, figures in (("test", test), ("fresh", drawn)):
        if figures is not None:
            found[name] = figures["seed"], figures["best"]
    scores = {name: (MeasuredScore.of(pair[0]), MeasuredScore.of(pair[1])) for name, pair in found.items()}
    tested = {name: kept((figures or {}).get("paired")) for name, figures in (("test", test), ("fresh", drawn))}
    return Sets(
        direction,
        scores,
        None if drawn is None else int(drawn["fresh_seed"]),
        {name: pair for name, pair in tested.items() if pair is not None},
        {name: _numbers(*pair) for name, pair in found.items() if name != "val"},
    )


def _numbers(seed: dict[str, Any], best: dict[str, Any]) -> list[tuple[str, float, float]]:
    """The figures that both have as numbers, beside their score; times say nothing of what a program is worth."""
    names = [name for name in best if name in seed and name != "score" and not str(name).endswith("seconds")]
    pairs = [(str(name), seed[name], best[name]) for name in names if name not in (BY_INSTANCE, "fresh_seed")]
    return [pair for pair in pairs if all(type(value) in (int, float) for value in pair[1:])]
