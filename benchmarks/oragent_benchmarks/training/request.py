"""Request of a training, without an import of PyTorch, which takes a second and may be missing."""

import re
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import ConfigError

MAX_BATCH = 256
PROBLEMS = ("tsp_pomo", "cvrp_pomo", "tsp_lehd", "cvrp_lehd")


@dataclass(frozen=True)
class TrainRequest:
    """Settings of one session of a training."""

    # Name of the problem, one of ``PROBLEMS``.
    problem: str
    # Folder of the training: a new training if it is empty, else the training is resumed.
    folder: Path
    # Folder of labels, which trainings share.
    labels: Path
    # Seed of a new training.
    seed: int = 0
    # Total number of steps after which to stop; None means no limit.
    steps: int | None = None
    # Wall-clock minutes after which to stop; None means no limit.
    minutes: float | None = None
    # Number of steps over which to decay the learning rate from now on, then stop; None follows the schedule.
    decay: int | None = None
    # Number of first steps of a new POMO training that imitate tours.
    imitate: int = 0
    # Device to compute on, as named by torch.
    device: str = "cpu"
    # Whether to compute in single precision instead of bfloat16 products.
    precise: bool = False
    # Factor on the number of instances per step of a new training; None means 1 on processors and more on a GPU.
    batch: int | None = None

    def __post_init__(self) -> None:
        if self.problem not in PROBLEMS:
            raise ConfigError(f"nothing to train for {self.problem!r}: choose one of {', '.join(PROBLEMS)}")
        if self.imitate and self.problem != "tsp_pomo":
            raise ConfigError("only tsp_pomo can begin by imitation: leave out --imitate")
        if not re.fullmatch(r"auto|cpu|cuda(:\d{1,2})?", self.device):
            raise ConfigError(f"unknown device {self.device!r}: choose auto, cpu, cuda or cuda:1 (and so on)")
        if self.batch is not None and not 1 <= self.batch <= MAX_BATCH:
            raise ConfigError(f"--batch is a factor from 1 to {MAX_BATCH}, not {self.batch}")
