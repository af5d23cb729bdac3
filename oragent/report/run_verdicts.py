"""Stored verdicts of a run: its best program against the seed and the previous best, on newly drawn instances."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated

from annotated_types import Gt, Lt, MaxLen
from pydantic import FiniteFloat, TypeAdapter
from pydantic.dataclasses import dataclass as checked

from oragent._base.sequential import fewest_pairs
from oragent._base.settings import STRICT
from oragent._base.statistics import describe_shortage
from oragent.report.held_out import read_record, write_record

FILE = "verdict.yaml"
MAX_NAME = 60
Name = Annotated[str, MaxLen(MAX_NAME)]


@checked(frozen=True, config=STRICT)
class RunVerdict:
    """Comparison of the best program of a run with an earlier one. Gains are relative, above 0 is better."""

    # Id of the earlier program; ``seed`` for the seed heuristic.
    rival: Name
    gain: FiniteFloat
    # Ends of the interval; None for too few instances.
    low: FiniteFloat | None
    high: FiniteFloat | None
    # The p-value, which holds although the comparison ended early, and the level to which it is compared.
    p: FiniteFloat
    level: Annotated[float, Gt(0), Lt(1)]
    instances: int
    # Mean gain by size, if there are several.
    by_size: Mapping[Name, FiniteFloat] = field(default_factory=dict)

    @property
    def is_above_noise(self) -> bool:
        """True if a difference is shown, whose sign is that of the whole interval."""
        if self.low is None or self.high is None:
            return False
        return self.p < self.level and not self.low <= 0 <= self.high

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        rival = "the seed" if self.rival == "seed" else f"the previous best, {self.rival}"
        if self.rival.startswith("reference/"):
            rival = f"the {self.rival.replace('/', ' ', 1)}"
        end = ""
        if self.low is not None and self.high is not None:
            end = f"{100 * (1 - self.level):g} % interval {100 * self.low:+.3g} to {100 * self.high:+.3g} %, "
        word = describe_shortage(self.instances, fewest_pairs(self.level)) or "WITHIN THE NOISE"
        if self.is_above_noise:
            word = "above the noise" if self.gain > 0 else "WORSE, and not by chance"
        sizes = ", ".join(f"{size}: {100 * gain:+.3g} %" for size, gain in self.by_size.items())
        return (
            f"gain over {rival} on {self.instances} new instances: {100 * self.gain:+.3g} %, {word} "
            f"({end}p = {self.p:.2g}){f'; by size {sizes}' if sizes else ''}"
        )


def write_verdicts(path: Path, verdicts: Sequence[RunVerdict]) -> None:
    """Write the verdicts on the present best program of a run."""
    write_record(path, FILE, {"verdicts": [asdict(verdict) for verdict in verdicts]})


def read_verdicts(path: Path) -> tuple[RunVerdict, ...]:
    """Return the stored verdicts on the present best program of a run; empty without any, or if they are damaged."""
    adapter = TypeAdapter(tuple[RunVerdict, ...])
    return read_record(path, FILE, lambda tree: adapter.validate_python(tree["verdicts"])) or ()
