"""Trained weights: official checkpoints if a user has provided them, else our own.

The files are the unchanged ones of yd-kwon/POMO and CIAM-Group/NCO_code; oragent's own files are safetensors with the
same names.
"""

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from oragent._base import package_data
from oragent._base.errors import ProblemError
from oragent.solvers.neural.lehd import CvrpLehd, TspLehd
from oragent.solvers.neural.pomo import CvrpPomo, TspPomo

NETWORKS: dict[str, type[nn.Module]] = {
    "tsp_pomo": TspPomo,
    "cvrp_pomo": CvrpPomo,
    "tsp_lehd": TspLehd,
    "cvrp_lehd": CvrpLehd,
}
OFFICIAL = {
    "tsp_pomo": "checkpoint-3100.pt",
    "cvrp_pomo": "checkpoint-30500.pt",
    "tsp_lehd": "checkpoint-150.pt",
    "cvrp_lehd": "checkpoint-40.pt",
}
# The official network for routes uses other names for parts of its layers than the one for tours.
RENAMED = {
    "feedForward": "feed_forward",
    "addAndNormalization1": "add_n_normalization_1",
    "addAndNormalization2": "add_n_normalization_2",
}
# Exceptions when reading a truncated or foreign file, depending on the position of the fault.
FOREIGN = (
    RuntimeError,
    EOFError,
    OSError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    pickle.UnpicklingError,
)
# Number of differences that a message lists.
SHOWN = 3


@dataclass(frozen=True)
class NetworkWeights:
    """Network with weights."""

    # Model in evaluation mode.
    model: nn.Module
    # Source of the weights, such as ``own (checkpoints/tsp_pomo.safetensors)``.
    source: str


def load(problem: str, root: Path, device: torch.device) -> NetworkWeights:
    """Load the best available weights for a problem.

    Raises:
        ProblemError: if weights are missing, or the file is not as expected.
    """
    path = find(problem, root)
    state = read(path)
    model = NETWORKS[problem]()
    fit(model, {_our_name(problem, name): value for name, value in state.items()}, path)
    return NetworkWeights(model.to(device).eval().requires_grad_(False), describe_weights(path, root, problem))


def describe_weights(path: Path, root: Path, problem: str) -> str:
    """Return a description of the source of weights, such as ``own (checkpoints/tsp_pomo.safetensors)``."""
    kind = "official" if path.name == OFFICIAL[problem] else "own"
    shown = path.relative_to(root) if path.is_relative_to(root) else path
    return f"{kind} ({shown})"


def find(problem: str, root: Path) -> Path:
    """Return the file to load: an official one in either of its locations, else oragent's own.

    Raises:
        ProblemError: with the locations, and the command that creates a file.
    """
    name = OFFICIAL[problem]
    places = (
        root / "problems" / problem / "checkpoints" / name,
        root / "checkpoints" / problem / name,
        root / "checkpoints" / f"{problem}.safetensors",
    )
    ships = package_data.find_path(root, f"checkpoints/{problem}.safetensors")
    weights_path = next((path for path in (*places, ships) if path.is_file()), None)
    if weights_path is None:
        shown = " or ".join(str(path.relative_to(root)) for path in places)
        raise ProblemError(
            f"no weights for {problem}: put a file at {shown}, or train one: oragent bench train {problem}"
        )
    return weights_path


def read(path: Path) -> dict[str, Tensor]:
    """Read a file of either format as single-precision tensors, without running any code in it.

    Raises:
        ProblemError: if the file is truncated or has another format.
    """
    try:
        state = load_file(path) if path.suffix == ".safetensors" else _read_checkpoint(path)
    except (*FOREIGN, SafetensorError) as problem:
        reason = (str(problem).splitlines() or [type(problem).__name__])[0][:100]
        raise ProblemError(
            f"{path} contains no weights, or only a part of them ({reason}): download or train them again"
        ) from None
    return {name: value.float() for name, value in state.items()}


def fit(model: nn.Module, state: Mapping[str, Tensor], path: Path) -> None:
    """Load weights into a network.

    Raises:
        ProblemError: with the first differences, if names or shapes differ.
    """
    expected = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    shapes = {name: tuple(value.shape) for name, value in state.items()}
    problems = [f"{name} is missing" for name in expected if name not in shapes]
    problems += [f"{name} is not known" for name in shapes if name not in expected]
    both = [name for name in expected if name in shapes and expected[name] != shapes[name]]
    problems += [f"{name} has shape {shapes[name]}, not {expected[name]}" for name in both]
    if problems:
        more = f" and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise ProblemError(
            f"{path} is for another network than {type(model).__name__}: {'; '.join(problems[:SHOWN])}{more}"
        )
    model.load_state_dict(dict(state))


def official_names(problem: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename our weights to the names of the official checkpoint."""
    renamed = RENAMED if problem == "cvrp_pomo" else {}
    return {".".join(renamed.get(part, part) for part in name.split(".")): value for name, value in state.items()}


def _our_name(problem: str, name: str) -> str:
    ours = {theirs: our_name for our_name, theirs in RENAMED.items()} if problem == "cvrp_pomo" else {}
    return ".".join(ours.get(part, part) for part in name.split("."))


def _read_checkpoint(path: Path) -> dict[str, Tensor]:
    read: Any = torch.load(path, map_location="cpu", weights_only=True)
    state = read.get("model_state_dict", read)
    return {str(name): value.detach() for name, value in state.items()}
