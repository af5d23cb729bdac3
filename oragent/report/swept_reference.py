"""Comparison of a run with a reference whose parameters were swept with at most the CPU seconds of the run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from oragent._base.errors import ProblemError
from oragent._base.text_format import escape_text
from oragent.report.held_out import HeldOutScorer, best_text, read_record, score_held_out, write_record
from oragent.report.significance import MeasuredScore, Paired, compare_pairs, read_paired
from oragent.search.experiments import SweepResult

FILE = "reference.yaml"
# Programs in the order of tables.
PROGRAMS = ("seed", "reference", "swept", "best")
MAX_NAME = 60


@dataclass(frozen=True)
class SweptReference:
    """Scores of the seed, a reference as written and swept, and the best program of a run.

    Attributes:
        name: Name of the reference.
        values: Best values of its parameters, by name.
        settings: Number of settings that were tried.
        cpu_s: CPU seconds of the sweep.
        scores: Scores on each set, by program.
        text: Program of the swept reference.
        pairs: Test of the best program against the swept reference, by set; not on val, on which both were chosen.
    """

    name: str
    values: Mapping[str, float]
    settings: int
    cpu_s: float
    scores: Mapping[str, Mapping[str, MeasuredScore]]
    text: str
    pairs: Mapping[str, Paired] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        """Comparison of the best program with the swept reference, for each set."""
        values = ", ".join(f"{name}={value:g}" for name, value in self.values.items())
        head = f"the reference {self.name}, swept on val to {values} ({self.settings} settings, {self.cpu_s:.3g} CPU s)"
        sentences = []
        for mode, scores in self.scores.items():
            figures = ", ".join(f"{program} {scores[program]}" for program in PROGRAMS)
            pair = self.pairs.get(mode)
            verdict = "" if pair is None else f"; best against swept: {pair.counts}: {_describe_pair(pair)}"
            sentences.append(f"{head}, on {mode}: {figures}{verdict}")
        return sentences


def _describe_pair(pair: Paired) -> str:
    return pair.verdict.replace("the seed", "the swept reference")


def score_swept(path: Path, scorer: HeldOutScorer, name: str, result: SweepResult) -> SweptReference:
    """Score a swept reference on ``val``, and on ``test`` if the evaluator has it, beside a run. Write the file.

    Raises:
        ProblemError: No setting has a score.
    """
    best = result.best
    if best is None:
        raise ProblemError(f"no setting of reference {name} has a score: {result.rows[0].message}")
    texts = {"reference": result.source, "swept": result.write_program(best)}
    figures: dict[str, dict[str, Any]] = {
        "val": {
            program: scorer.read_figures(scorer.evaluate(text, None, patience=1), "val")
            for program, text in {"seed": scorer.seed, **texts, "best": best_text(path)}.items()
        }
    }
    if "test" in scorer.folder.problem.about.sizes:
        tested = score_held_out(path, scorer)
        figures["test"] = {program: scorer.score(text, "test") for program, text in texts.items()}
        figures["test"] |= {program: tested[program] for program in ("seed", "best")}
    direction = scorer.folder.problem.about.direction
    pairs = {
        mode: compare_pairs(direction, of_set["swept"], of_set["best"])
        for mode, of_set in figures.items()
        if mode != "val"
    }
    scores = {
        mode: {
            program: {key: of_set[program][key] for key in ("score", "ci95") if key in of_set[program]}
            for program in PROGRAMS
        }
        for mode, of_set in figures.items()
    }
    tree = {
        "name": name,
        "values": dict(best.values),
        "settings": len(result.rows),
        "cpu_s": result.cpu_s,
        "text": texts["swept"],
        "scores": scores,
        "pairs": {mode: asdict(pair) for mode, pair in pairs.items() if pair is not None},
    }
    write_record(path, FILE, tree)
    return _parse(tree)


def read_swept(path: Path) -> SweptReference | None:
    """Return the stored comparison for the present best program. None if it is missing or its file is damaged."""
    return read_record(path, FILE, _parse)


def _parse(tree: Mapping[str, Any]) -> SweptReference:
    return SweptReference(
        escape_text(str(tree["name"]))[:MAX_NAME],
        {escape_text(str(name))[:MAX_NAME]: float(value) for name, value in tree["values"].items()},
        int(tree["settings"]),
        float(tree["cpu_s"]),
        {
            mode: {program: MeasuredScore.from_figures(of_set[program]) for program in PROGRAMS}
            for mode, of_set in tree["scores"].items()
            if mode in ("val", "test")
        },
        str(tree["text"]),
        {mode: pair for mode, of_set in tree["pairs"].items() if (pair := read_paired(of_set)) is not None},
    )
