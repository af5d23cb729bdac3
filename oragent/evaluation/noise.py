"""Noise of a problem, as ``check`` measures it: how scores and differences of programs vary between instances."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import yaml
from annotated_types import Ge
from pydantic import FiniteFloat, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from oragent._base.files import replace_file
from oragent._base.safe_load import load_yaml
from oragent._base.settings import STRICT
from oragent.evaluation.job import NOISE_FILE


@checked(frozen=True, config=STRICT)
class SizeNoise:
    """Values of the seed heuristic on the instances of one size."""

    instances: Annotated[int, Ge(1)]
    mean: FiniteFloat
    # Standard deviation between instances.
    spread: FiniteFloat


@checked(frozen=True, config=STRICT)
class ProblemNoise:
    """Noise of a problem."""

    # Scores of the seed heuristic on sets that are drawn as val.
    scores: Sequence[FiniteFloat]
    # Standard deviation of these.
    spread: FiniteFloat
    # Seed heuristic on the instances of all sets, by size.
    sizes: Mapping[str, SizeNoise]
    # Standard deviation, on an instance, of the relative difference of a variant from the seed. None without a variant.
    paired_spread: FiniteFloat | None
    # Relative difference that all instances of val show with probability 80 %. None without a variant, and
    # for too few instances.
    shown: FiniteFloat | None


def write_noise(folder: Path, noise: ProblemNoise) -> None:
    """Write the noise of a problem into its folder."""
    replace_file(folder / NOISE_FILE, "# Measured by oragent check.\n" + yaml.safe_dump(asdict(noise), sort_keys=False))


def read_noise(folder: Path) -> ProblemNoise | None:
    """Return the stored noise of a problem; None if it was not measured, or its file is damaged."""
    try:
        return TypeAdapter(ProblemNoise).validate_python(load_yaml(folder / NOISE_FILE))
    except (OSError, yaml.YAMLError, ValidationError):
        return None
