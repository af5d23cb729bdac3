"""What is asked of a training; read without PyTorch, which takes a second to import and may be missing."""

import re
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import ConfigError

MOST_BATCH = 256
PROBLEMS = ("tsp_pomo", "cvrp_pomo", "tsp_lehd", "cvrp_lehd")


@dataclass(frozen=True)
class TrainRequest:
    """What is asked of one sitting."""

    # name of the problem, one of ``PROBLEMS``
    problem: str
    # folder of the training: begun if it is empty, resumed if not
    folder: Path
    # folder of labels, which trainings share
    labels: Path
    # seed of a new training
    seed: int = 0
    # number of steps in all after which to stop; None: no limit
    steps: int | None = None
    # minutes by the clock after which to stop; None: no limit
    minutes: float | None = None
    # number of steps over which to lower the learning rate from now on, then stop; None: as the schedule has it
    decay: int | None = None
    # number of first steps of a new POMO training that imitate tours
    imitate: int = 0
    # device to compute on, as torch names it
    device: str = "cpu"
    # whether to compute in single precision instead of bfloat16 products
    precise: bool = False
    # factor on the instances of a step of a new training; None: 1 on processors, more on a GPU
    batch: int | None = None

    def __post_init__(self) -> None:
        if self.problem not in PROBLEMS:
            raise ConfigError(f"nothing to train for {self.problem!r}: choose one of {', '.join(PROBLEMS)}")
        if self.imitate and self.problem != "tsp_pomo":
            raise ConfigError("only tsp_pomo can begin by imitation: leave out --imitate")
        if not re.fullmatch(r"auto|cpu|cuda(:\d{1,2})?", self.device):
            raise ConfigError(f"unknown device {self.device!r}: choose auto, cpu, cuda or cuda:1 (and so on)")
        if self.batch is not None and not 1 <= self.batch <= MOST_BATCH:
            raise ConfigError(f"--batch is a factor from 1 to {MOST_BATCH}, not {self.batch}")
