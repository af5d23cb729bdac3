"""Devices for neural networks: what this machine has, what was requested, and what a run is pinned to.

Scores of two devices differ in their last digits, so a run has one. PyTorch is asked in a process of its own: its
import takes seconds, and a device that was opened here would be inherited by whatever is forked.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError
from oragent.evaluation.problem import Problem
from oragent.sandbox.isolation.environment import allowed_environment

AUTO, CPU = "auto", "cpu"
PATTERN = r"auto|cpu|cuda(:\d{1,2})?|mps"
# a cold import of the CUDA build takes half a minute on a slow disk
ASK_S = 120.0
# of NVIDIA, of AMD, of either under Windows
SIGNS = "/dev/nvidiactl", "/dev/kfd", "/dev/dxg"
DRIVER = Path("/proc/driver/nvidia/version")
NAME_CHARACTERS = 80
QUESTION = """
import json, torch
cards = []
for k in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
    about = torch.cuda.get_device_properties(k)
    with torch.cuda.device(k):
        cards.append(["cuda:%d" % k, about.name, about.total_memory >> 20, torch.cuda.is_bf16_supported()])
if torch.backends.mps.is_available():
    cards.append(["mps", "Apple GPU", 0, False])
print(json.dumps({"build": str(torch.version.cuda or torch.version.hip or ""), "cards": cards}))
"""


@dataclass(frozen=True)
class Card:
    """A GPU that PyTorch can use."""

    # device as ``--device`` names it, such as ``cuda:0``
    device: str
    name: str
    # memory in MiB; 0 where it is the machine's own
    memory_mb: int
    bfloat16: bool


@dataclass(frozen=True)
class DeviceReport:
    """What there is to compute on, beside processors."""

    # version of PyTorch; empty where it is not installed
    torch: str = ""
    # version of CUDA or ROCm that it was built for; empty for a build for CPUs, or where nobody asked
    build: str = ""
    # files of the system that show a GPU's driver
    signs: tuple[str, ...] = ()
    # first line of what the driver says of itself
    driver: str = ""
    # GPUs that PyTorch can use
    cards: tuple[Card, ...] = ()
    # reason why PyTorch could not be asked; empty where it answered, or had no reason to be asked
    trouble: str = ""

    @property
    def why_not(self) -> str:
        """Why there is no GPU to compute on, in words; empty where there is one."""
        if self.cards:
            return ""
        if not self.torch:
            return "PyTorch is not installed"
        if self.trouble:
            return f"PyTorch {self.torch} could not be asked: {self.trouble}"
        if self.signs:
            return f"there is a GPU's driver ({self.signs[0]}), and PyTorch {self.torch} sees no GPU"
        return f"this machine shows no GPU (PyTorch {self.torch})"


@dataclass(frozen=True)
class PinnedDevice:
    """The device that a run, or an evaluation, computes on."""

    device: str
    # name of the product; empty for processors
    name: str = ""
    # line for a person; empty where all is as it was asked for
    remark: str = ""
    # whether that line tells of something that was to be had and is not
    careful: bool = False


def uses_networks(problem: Problem) -> bool:
    """Return True if a problem's evaluator computes with PyTorch, so that a device means something to it."""
    return "torch" in problem.about.requires


@lru_cache(1)
def find_devices() -> DeviceReport:
    """Look what there is; PyTorch is asked, once a process, only where the system shows signs of a GPU."""
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    signs = tuple(sign for sign in SIGNS if os.path.exists(sign))
    if DRIVER.is_file():
        driver = DRIVER.read_text(encoding="utf-8", errors="replace").split("\n")[0]
    else:
        driver = ""
    if not torch or not (signs or sys.platform == "darwin"):
        return DeviceReport(torch, "", signs, driver)
    try:
        answer = _ask_torch()
        cards = tuple(
            Card(str(device), str(name)[:NAME_CHARACTERS], int(memory_mb), bool(bfloat16))
            for device, name, memory_mb, bfloat16 in answer["cards"]
        )
        return DeviceReport(torch, str(answer["build"])[:NAME_CHARACTERS], signs, driver, cards)
    except (OSError, subprocess.SubprocessError, ValueError, TypeError, KeyError) as problem:
        return DeviceReport(torch, "", signs, driver, trouble=type(problem).__name__)


def pin_device(requested: str, problem: Problem) -> PinnedDevice:
    """Choose the device of a run or an evaluation; nobody who named one gets another.

    Raises:
        ConfigError: if it is none of these, or the device is not there.
    """
    if not re.fullmatch(PATTERN, requested):
        raise ConfigError(f"unknown device {requested!r}: choose auto, cpu, cuda, cuda:0 (and so on) or mps")
    if not uses_networks(problem):
        remark = f"{problem.name} computes without PyTorch: --device {requested} has no effect"
        return PinnedDevice(CPU, remark="" if requested in (AUTO, CPU) else f"{remark}, it runs on the processors")
    if requested == CPU:
        return PinnedDevice(CPU)
    devices = find_devices()
    if requested == AUTO:
        if not devices.cards:
            remark = f"networks compute on the CPU: {devices.why_not}"
            return PinnedDevice(CPU, remark=remark, careful=bool(devices.signs))
        best = devices.cards[0]
        return PinnedDevice(best.device, best.name, f"networks compute on {best.device}, {best.name}")
    if requested == "cuda":
        device = "cuda:0"
    else:
        device = requested
    for card in devices.cards:
        if card.device == device:
            return PinnedDevice(device, card.name)
    available = ", ".join(card.device for card in devices.cards)
    if available:
        why = f"there is {available}"
    else:
        why = devices.why_not
    raise ConfigError(f"--device {requested}: no such device, {why}; use --device {available.partition(',')[0] or CPU}")


def require_device(device: str, name: str, problem: Problem) -> None:
    """Check that the device to which a run is pinned is there, and the same product where that was written down."""
    if device in (AUTO, CPU):
        return
    now = pin_device(device, problem)
    if name and now.name != name:
        raise ConfigError(
            f"this run is pinned to {device}, which was {name} and is {now.name} here: scores of two devices differ in "
            "their last digits, and an archive has one; begin a new run"
        )


def is_same_device(requested: str, pinned: str) -> bool:
    """Return True if a device that is named for a run that exists is the one it is pinned to."""
    return requested == pinned or (requested == "cuda" and pinned == "cuda:0")


def _ask_torch() -> dict[str, Any]:
    """What PyTorch itself says; a driver that crashes takes only that process with it."""
    command, clean = [sys.executable, "-c", QUESTION], allowed_environment()
    ended = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=ASK_S, check=True)
    answer: dict[str, Any] = json.loads(ended.stdout.strip().splitlines()[-1] if ended.stdout.strip() else "")
    return answer
