"""The gold formulations of NL4Opt, on machines that have the file."""

from pathlib import Path

from oragent.modelling.data.indexed import IndexedModel
from oragent_benchmarks.formulate.sets import read_set

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "formulation" / "nl4opt"


def verified() -> list[tuple[IndexedModel, float]]:
    """The 222 problems on which three sources agree, with their answers."""
    cases = read_set(f"nl4opt={FOLDER / 'nl4opt_verified.json'}").cases
    return [(case.gold, case.label.objective) for case in cases if case.gold and case.label.objective is not None]
