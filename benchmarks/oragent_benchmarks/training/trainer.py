"""Training loop: AdamW, and Muon for POMO; averaged weights, measurements, and resumption.

Muon moves along the orthogonal matrix nearest to the momentum (Jordan et al. 2024, kellerjordan.github.io/posts/muon),
with steps scaled as in AdamW (Liu et al. 2025, arXiv:2502.16982). With it POMO reaches the same tours in half the
steps. LEHD, which learns from few decisions per step and has no normalisation, does not gain from it.
"""

import math
import sys
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from oragent._base.errors import ConfigError
from oragent.solvers.neural.attention import WIDTH
from oragent_benchmarks.training import curve, state
from oragent_benchmarks.training.curve import Yardstick, yardstick
from oragent_benchmarks.training.request import TrainRequest
from oragent_benchmarks.training.state import Schedule, TrainingState
from oragent_benchmarks.training.tasks import LehdTask, PomoTask, StepContext, make_task

# Weight decay of AdamW.
WEIGHT_DECAY = 1e-6
# Types of devices with a fused AdamW.
FUSED = {"cuda", "mps", "cpu"}
# Momentum of Muon, as in PyTorch.
MOMENTUM = 0.95
# Coefficients of Jordan et al. 2024.
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


@dataclass(frozen=True)
class Rates:
    """Peak learning rates and their warm-up."""

    # Number of steps over which they rise.
    warm_up: int
    # Peak rate of AdamW.
    others: float
    # Peak rate of Muon, for matrices at least as wide as a layer in both dimensions; None means that AdamW moves them
    # too.
    matrices: float | None = None


class Optimiser:
    """One or two optimisers behind one interface, with rates relative to the schedule's peak.

    ``together``: whether to move all parameters in few kernels, which suits a GPU: AdamW fused, Muon's matrices in one
    batch per shape. None means True if the parameters are on a GPU.
    """

    def __init__(self, model: nn.Module, rates: Rates, *, together: bool | None = None) -> None:
        parameters = list(model.parameters())
        on = parameters[0].device.type
        if together is None:
            together = on != "cpu"
        fused = together and on in FUSED
        if rates.matrices is None:
            alone = _adamw(parameters, fused)
            self._parts: dict[str, tuple[float, torch.optim.Optimizer]] = {"adamw": (rates.others, alone)}
            return
        matrices = [parameter for parameter in parameters if parameter.ndim == 2 and min(parameter.shape) >= WIDTH]
        others = [parameter for parameter in parameters if parameter.ndim != 2 or min(parameter.shape) < WIDTH]
        muon: torch.optim.Optimizer = (
            Muon(matrices) if together else torch.optim.Muon(matrices, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
        )
        self._parts = {"muon": (rates.matrices, muon), "adamw": (rates.others, _adamw(others, fused))}

    def zero_grad(self) -> None:
        """Clear the gradients."""
        for _, part in self._parts.values():
            part.zero_grad()

    def step(self, share: float) -> None:
        """Move all parameters, at a share of the peak rates."""
        for rate, part in self._parts.values():
            for group in part.param_groups:
                group["lr"] = share * rate
            part.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the state that the next step depends on."""
        return {name: part.state_dict() for name, (_, part) in self._parts.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state."""
        for name, (_, part) in self._parts.items():
            part.load_state_dict(state_dict[name])


class Muon(torch.optim.Optimizer):
    """``torch.optim.Muon`` with the settings used here, and matrices of one shape orthogonalised in one batch.

    POMO has 50 of them in five shapes: 15 products per matrix become 15 per shape. Its state is that of PyTorch's own,
    so a training can change between the two.
    """

    def __init__(self, matrices: list[nn.Parameter]) -> None:
        super().__init__(matrices, {"lr": 1e-3})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move all matrices that have a gradient."""
        alike: dict[tuple[int, ...], list[nn.Parameter]] = {}
        rate = self.param_groups[0]["lr"]
        for parameter in self.param_groups[0]["params"]:
            if parameter.grad is not None:
                alike.setdefault(tuple(parameter.shape), []).append(parameter)
        for (rows, columns), ones in alike.items():
            for parameter in ones:
                self.state[parameter].setdefault("momentum_buffer", torch.zeros_like(parameter))
            momenta = [self.state[parameter]["momentum_buffer"] for parameter in ones]
            gradients = [parameter.grad for parameter in ones if parameter.grad is not None]
            torch._foreach_lerp_(momenta, gradients, 1 - MOMENTUM)
            ahead = torch.stack(torch._foreach_lerp(gradients, momenta, MOMENTUM))
            moved = _orthogonal(ahead).to(ones[0].dtype).mul(-rate * 0.2 * max(rows, columns) ** 0.5)
            torch._foreach_add_([*ones], moved.unbind())


RATES = {"pomo": Rates(100, 3e-4, matrices=2.4e-3), "lehd": Rates(300, 5e-4)}
CLIP_NORM = 1.0
# Share of the averaged weights that remains per step.
KEEP = 0.999
SAVE_S, MEASURE_S = 60.0, 300.0
# Factor on the number of instances per step on a GPU; with fewer the GPU is idle for part of the time.
GPU_BATCH = 16
# Number of instances measured during training, by size.
MEASURED = {20: 100, 50: 100}


def _orthogonal(matrices: Tensor) -> Tensor:
    """Approximate the orthogonal matrices nearest to ``(k, rows, columns)``: five Newton-Schulz steps in bfloat16."""
    a, b, c = NEWTON_SCHULZ
    x = matrices.bfloat16()
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.transpose(1, 2)
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.transpose(1, 2)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    if tall:
        return x.transpose(1, 2)
    return x


def _adamw(parameters: list[nn.Parameter], fused: bool) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, weight_decay=WEIGHT_DECAY, fused=fused or None)


def train(request: TrainRequest, *, measure: bool = True) -> TrainingState:
    """Train, or resume a training, until the request's limit or the end of the decay.

    A training that has ended resumes from the beginning of its decay, if more minutes or steps are requested.

    Raises:
        ConfigError: if the folder cannot be created, or contains the training of another network.
        StoreError: if its content cannot be read.
        ProblemError: if labels are needed and their solver is not installed.
    """
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise ConfigError(
            f"{request.folder} cannot be the folder of a training: {fault.strerror}; choose a --folder"
        ) from None
    begun = _begun(request)
    # This seed determines the first weights.
    torch.manual_seed(request.seed if begun is None else begun.seed)
    task = make_task(request.problem, request.labels, request.imitate if begun is None else begun.imitate)
    device = torch.device(_available(request.device))
    if begun is not None and request.batch not in (None, begun.batch):
        raise ConfigError(f"{request.folder} was begun with --batch {begun.batch}: leave it out, or choose a --folder")
    task.model.to(device)
    rates = RATES[request.problem.partition("_")[2]]
    optimiser = Optimiser(task.model, rates)
    now = begun or _fresh(request, task.model, rates.warm_up)
    if begun is not None:
        task.model.load_state_dict(now.weights)
        optimiser.load_state_dict(now.optimiser)
    now.average = {name: value.to(device) for name, value in now.average.items()}
    if request.decay and now.schedule.decay_from is None:
        if begun is not None:
            state.save(now, request.folder, state.BEFORE_DECAY)
        now.schedule = replace(now.schedule, decay_from=now.step, decay_steps=request.decay)
    yardsticks = {size: yardstick(request.labels, request.problem, size, count) for size, count in MEASURED.items()}
    sitting = _Sitting(now, task, optimiser, request, yardsticks if measure else {})
    if device.type == "cuda":
        now.gpu = torch.cuda.get_device_name(device)
    sitting.run(StepContext(device, request.precise, now.batch))
    return now


def _begun(request: TrainRequest) -> TrainingState | None:
    """Return the state in the folder, or the one before the decay if more steps are requested; None if it is empty."""
    now = state.load(request.folder)
    if now is not None and now.problem != request.problem:
        raise ConfigError(f"{request.folder} contains a training of {now.problem}, not {request.problem}")
    if now is None or not now.schedule.ended(now.step):
        return now
    more = request.minutes is not None or (request.steps is not None and request.steps > now.step)
    former = state.load(request.folder, state.BEFORE_DECAY) if more and request.decay is None else None
    if former is None:
        return now
    curve.cut(request.folder, former.step)
    return former


def _available(device: str) -> str:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "auto" and not count:
        print("training uses the CPU, because this PyTorch finds no CUDA device", file=sys.stderr)
    if device in ("auto", "cpu"):
        if count and device == "auto":
            return "cuda:0"
        return "cpu"
    index = int(device.partition(":")[2] or 0)
    if index >= count:
        plural = "s" if count > 1 else ""
        seen = f"{count} CUDA device{plural}" if count else "no CUDA device"
        raise ConfigError(f"--device {device}: this PyTorch finds {seen}; use --device {'cuda:0' if count else 'cpu'}")
    return f"cuda:{index}"


def _fresh(request: TrainRequest, model: nn.Module, warm_up: int) -> TrainingState:
    average = {name: value.clone() for name, value in model.state_dict().items()}
    batch = request.batch or (1 if next(model.parameters()).device.type == "cpu" else GPU_BATCH)
    return TrainingState(request.problem, request.seed, request.imitate, Schedule(warm_up), average, batch=batch)


@dataclass(eq=False)
class _Sitting:
    """One session of the loop, with its clocks."""

    now: TrainingState
    task: LehdTask | PomoTask
    optimiser: Optimiser
    request: TrainRequest
    yardsticks: dict[int, Yardstick]
    # Kept on the device, so that the program waits for it only when it is displayed.
    _loss: torch.Tensor | float = 0.0
    _clock: float = field(default_factory=time.process_time)
    _on_gpu_since: float = field(default_factory=time.monotonic)

    def run(self, context: StepContext) -> None:
        """Run steps until a limit; save and measure every few minutes and at the end."""
        schedule, minutes = self.now.schedule, self.request.minutes
        end = None if schedule.decay_from is None else schedule.decay_from + schedule.decay_steps
        last = min((limit for limit in (end, self.request.steps) if limit is not None), default=None)
        saved = measured = time.monotonic()
        until = math.inf if minutes is None else saved + 60 * minutes
        with tqdm(initial=self.now.step, total=last, unit=" steps", disable=None, dynamic_ncols=True) as bar:
            while (last is None or self.now.step < last) and time.monotonic() < until:
                self._step(context)
                bar.update()
                if time.monotonic() - measured > MEASURE_S:
                    bar.set_postfix_str(self._measure())
                    measured = time.monotonic()
                if time.monotonic() - saved > SAVE_S:
                    self._save()
                    saved = time.monotonic()
            bar.set_postfix_str(self._measure())
        self._save()

    def _step(self, context: StepContext) -> None:
        now, model = self.now, self.task.model
        # Generator of this step alone, so that its state need not be saved.
        rng = np.random.default_rng([now.seed, now.step])
        self.optimiser.zero_grad()
        total: torch.Tensor | float = 0.0
        for part in self.task.losses(rng, now.step, context):
            part.backward()  # type: ignore[no-untyped-call]
            total = part.detach() + total
        nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
        self.optimiser.step(now.schedule.share(now.step))
        now.follow(model, KEEP)
        now.step += 1
        self._loss = self._loss + 0.02 * (total - self._loss)

    def _measure(self) -> str:
        self._count_time()
        now, model = self.now, self.task.model
        if not self.yardsticks:
            return ""
        learnt = {name: value.clone() for name, value in model.state_dict().items()}
        model.load_state_dict(now.average)
        gaps = {f"gap_{size}": round(yardstick.gap(model), 5) for size, yardstick in self.yardsticks.items()}
        model.load_state_dict(learnt)
        hours = {"gpu_hours": round(now.gpu_s / 3600, 4)} if now.gpu_s else {}
        record = {"step": now.step, "cpu_hours": round(now.cpu_s / 3600, 4), "loss": round(float(self._loss), 5)}
        curve.add(self.request.folder, hours | record | gaps)
        curve.draw(self.request.folder, now.problem)
        # The time of measurements does not count as training.
        self._clock, self._on_gpu_since = time.process_time(), time.monotonic()
        return ", ".join(f"{name} {100 * value:.2f} %" for name, value in gaps.items())

    def _save(self) -> None:
        self._count_time()
        self.now.weights = self.task.model.state_dict()
        self.now.optimiser = self.optimiser.state_dict()
        state.save(self.now, self.request.folder)

    def _count_time(self) -> None:
        passed = time.process_time()
        self.now.cpu_s += passed - self._clock
        since = time.monotonic()
        if next(self.task.model.parameters()).device.type != "cpu":
            self.now.gpu_s += since - self._on_gpu_since
        self._clock, self._on_gpu_since = passed, since
