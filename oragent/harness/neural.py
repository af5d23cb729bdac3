"""What evaluators of neural solvers share: PyTorch or one clear line, their options, the device, the checked bias.

Call ``need_torch`` before anything is imported that imports torch.
"""

import importlib
import sys
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from oragent.distribution import CPU_BUILD, with_extra
from oragent.errors import ConfigError
from oragent.harness.arguments import PROTOCOL, Arguments
from oragent.harness.figures import matrix
from oragent.protocol import Failure, Status, format_failure

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["CHOICES", "FLAGS", "LEHD_FLAGS", "bias", "device", "need_torch"]

FLAGS = {
    "augment": "take the best over the eight symmetries of the square (not the score that a search sees)",
    "multi_start": "take the best of 8 first nodes (likewise)",
}
LEHD_FLAGS = FLAGS | {
    "bfloat16": "compute in bfloat16, close decisions again in single precision: the same tours sooner"
}
CHOICES = {"device": ("auto", "cpu", "cuda"), **PROTOCOL}
LIMIT = 1e30  # of a bias: sums stay finite in single precision


def need_torch() -> None:
    """Say in one line how to get PyTorch, as the result of this evaluation, where it is missing.

    Raises:
        SystemExit: 1, if it is.
    """
    try:
        for name in ("safetensors", "torch"):
            importlib.import_module(name)
    except ModuleNotFoundError as problem:
        told = f"{problem.name} is not installed: {with_extra('neural')} (PyTorch for CPUs alone: first {CPU_BUILD})"
        print(format_failure(Failure(Status.CRASHED, told)), flush=True)
        sys.exit(1)


def device(arguments: Arguments) -> "torch.device":
    """Where the network computes; the candidate always gets tensors in main memory.

    Raises:
        ConfigError: if CUDA was asked for and is not there.
    """
    import torch  # heavy, and optional

    asked = arguments.choices["device"]
    if asked == "cuda" and not torch.cuda.is_available():
        raise ConfigError("--device cuda: this PyTorch sees no CUDA device; use --device cpu")
    return torch.device("cuda" if asked != "cpu" and torch.cuda.is_available() else "cpu")


def bias(value: ArrayLike, size: int) -> "Tensor":
    """Check an attention bias.

    Args:
        value: Value that came back across the wire: a tensor or an array.
        size: Number of nodes.

    Returns:
        ``(size, size)`` float32 tensor of finite numbers in main memory.

    Raises:
        CandidateError: ``invalid``, saying what came and what was expected.
    """
    import torch  # heavy, and optional

    return torch.from_numpy(np.clip(matrix(value, (size, size)), -LIMIT, LIMIT)).float()
