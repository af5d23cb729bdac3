"""What is asked of a training; read without PyTorch, which takes a second to import and may be missing."""

from dataclasses import dataclass
from pathlib import Path

from oragent.errors import ConfigError

__all__ = ["PROBLEMS", "TrainRequest"]

PROBLEMS = ("tsp_pomo", "cvrp_pomo", "tsp_lehd", "cvrp_lehd")


@dataclass(frozen=True)
class TrainRequest:
    """What is asked of one sitting.

    Attributes:
        problem: one of ``PROBLEMS``.
        folder: of the training: begun if it is empty, resumed if not.
        labels: folder of labels, which trainings share.
        seed: of a new training.
        steps: stop when so many steps are done in all; None: no limit.
        minutes: stop after so long by the clock; None: no limit.
        decay: begin to lower the learning rate now, for so many steps, then stop.
        imitate: how many first steps of a new POMO training imitate tours.
        device: where to compute.
        precise: single precision instead of bfloat16 products.
    """

    problem: str
    folder: Path
    labels: Path
    seed: int = 0
    steps: int | None = None
    minutes: float | None = None
    decay: int | None = None
    imitate: int = 0
    device: str = "cpu"
    precise: bool = False

    def __post_init__(self) -> None:
        if self.problem not in PROBLEMS:
            raise ConfigError(f"nothing to train for {self.problem!r}: choose one of {', '.join(PROBLEMS)}")
        if self.imitate and self.problem != "tsp_pomo":
            raise ConfigError("only tsp_pomo can begin by imitation: leave out --imitate")
        if self.device not in ("auto", "cpu", "cuda"):
            raise ConfigError(f"unknown device {self.device!r}: choose auto, cpu or cuda")
