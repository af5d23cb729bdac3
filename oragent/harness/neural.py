"""Functions for evaluators of neural solvers: a check for PyTorch, options, the device, the checked bias.

Call ``need_torch`` before any import of a module that imports torch.
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from oragent._base.distribution import CPU_BUILD, extra_install_command
from oragent._base.errors import ConfigError
from oragent._base.protocol import Failure, Status, format_failure
from oragent.harness.arguments import PROTOCOL, Arguments
from oragent.harness.figures import matrix

if TYPE_CHECKING:
    import torch
    from torch import Tensor

FLAGS = {
    "all_starts": "take the best of all first nodes (likewise; with --augment as the authors of POMO report it)",
    "augment": "take the best over the eight symmetries of the square (not the score that a search sees)",
    "multi_start": "take the best of 8 first nodes (likewise)",
}
LEHD_FLAGS = {name: text for name, text in FLAGS.items() if name != "all_starts"} | {
    "bfloat16": "compute in bfloat16, close decisions again in single precision: the same tours sooner"
}
CHOICES = {"device": ("auto", "cpu", "cuda", *(f"cuda:{number}" for number in range(8)), "mps"), **PROTOCOL}
# Numbers of parts that LEHD may rebuild (RRC) if a user requests it.
REBUILDS = ("0", "10", "50", "100", "200", "500", "1000")
LEHD_CHOICES = CHOICES | {"rrc": REBUILDS}
# Limit of a bias, so that sums stay finite in single precision.
LIMIT = 1e30


def need_torch() -> None:
    """If PyTorch is missing, end the evaluation with a line on how to install it.

    Raises:
        SystemExit: Code 1, if it is missing.
    """
    try:
        for name in ("torch", "safetensors"):
            importlib.import_module(name)
    except ModuleNotFoundError as problem:
        command = f"{extra_install_command('neural')} (PyTorch for CPUs alone: first {CPU_BUILD})"
        message = f"{problem.name} is not installed: {command}"
        print(format_failure(Failure(Status.CRASHED, message)), flush=True)
        sys.exit(1)


def device(arguments: Arguments) -> "torch.device":
    """Return the device of the network. The candidate always gets tensors in main memory.

    Raises:
        ConfigError: The requested device does not exist.
    """
    # PyTorch is large and optional.
    import torch

    requested = arguments.choices["device"]
    cards = [f"cuda:{number}" for number in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    available = [*cards, *(["mps"] if torch.backends.mps.is_available() else [])]
    # The memory limit of a search is too low for a GPU driver.
    if "ORAGENT_MEMORY_MB" in os.environ:
        available = []
    if requested == "auto":
        if not available:
            print("networks use the CPU, because this PyTorch finds no GPU", file=sys.stderr)
        return torch.device(available[0] if available else "cpu")
    device = "cuda:0" if requested == "cuda" else requested
    if device not in ("cpu", *available):
        seen = f"sees {', '.join(available)}" if available else "sees no GPU"
        raise ConfigError(
            f"--device {requested}: this PyTorch {seen}; use --device {available[0] if available else 'cpu'}"
        )
    return torch.device(device)


def bias(value: ArrayLike, size: int) -> "Tensor":
    """Check an attention bias.

    Args:
        value: Value returned by the candidate's process: a tensor or an array.
        size: Number of nodes.

    Returns:
        ``(size, size)`` float32 tensor of finite numbers in main memory.

    Raises:
        CandidateError: ``invalid``, with the value and the expectation.
    """
    # PyTorch is large and optional.
    import torch

    return torch.from_numpy(np.clip(matrix(value, (size, size)), -LIMIT, LIMIT)).float()
