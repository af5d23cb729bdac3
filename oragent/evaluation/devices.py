"""Devices for neural networks: those of this machine, the requested one, and the one that a run is pinned to.

Scores of two devices differ in their last digits, so a run uses only one. PyTorch is queried in a separate process: its
import takes seconds, and forked processes would inherit a device that is opened here.
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

from oragent._base.errors import ConfigError, SandboxError
from oragent.evaluation.problem import Problem
from oragent.sandbox.children import ChildLimits, run_child

AUTO, CPU = "auto", "cpu"
PATTERN = r"auto|cpu|cuda(:\d{1,2})?|mps"
# A cold import of the CUDA build takes half a minute on a slow disk.
ASK_S = 120.0
# Device files of NVIDIA, of AMD, and of either under Windows.
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
    """GPU that PyTorch can use."""

    # Device in the notation of ``--device``, such as ``cuda:0``.
    device: str
    name: str
    # Memory in MiB; 0 if it shares the main memory.
    memory_mb: int
    bfloat16: bool


@dataclass(frozen=True)
class DeviceReport:
    """Devices of this machine in addition to its processors."""

    # Version of PyTorch; empty if it is not installed.
    torch: str = ""
    # Version of CUDA or ROCm that it was built for; empty for CPU builds, or if unknown.
    build: str = ""
    # System files that indicate the driver of a GPU.
    signs: tuple[str, ...] = ()
    # First line of the driver's version file.
    driver: str = ""
    # GPUs that PyTorch can use.
    cards: tuple[Card, ...] = ()
    # Reason why PyTorch could not be queried; empty if it answered or was not queried.
    trouble: str = ""

    @property
    def why_not(self) -> str:
        """Reason why networks cannot compute on a GPU; empty if they can."""
        if self.cards:
            return ""
        if not self.torch:
            return "PyTorch is not installed"
        if self.trouble:
            return f"PyTorch {self.torch} could not be queried: {self.trouble}"
        if self.signs:
            return f"PyTorch {self.torch} finds no GPU, although a driver is present ({self.signs[0]})"
        return f"this machine has no GPU (PyTorch {self.torch})"


@dataclass(frozen=True)
class PinnedDevice:
    """Device of a run or an evaluation."""

    device: str
    # Product name; empty for processors.
    name: str = ""
    # Message for the user; empty if the request was met.
    remark: str = ""
    # True if the message reports a GPU that exists but cannot be used.
    careful: bool = False


def uses_networks(problem: Problem) -> bool:
    """Return True if a problem's evaluator uses PyTorch, so that a device matters."""
    return "torch" in problem.about.requires


@lru_cache(1)
def find_devices() -> DeviceReport:
    """Find the devices of this machine; PyTorch is queried once, and only if the system shows a GPU."""
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    signs = tuple(sign for sign in SIGNS if os.path.exists(sign))
    driver = DRIVER.read_text(encoding="utf-8", errors="replace").split("\n")[0] if DRIVER.is_file() else ""
    if not torch or not (signs or sys.platform == "darwin"):
        return DeviceReport(torch, "", signs, driver)
    try:
        answer = _ask_torch()
        cards = tuple(
            Card(str(device), str(name)[:NAME_CHARACTERS], int(memory_mb), bool(bfloat16))
            for device, name, memory_mb, bfloat16 in answer["cards"]
        )
        return DeviceReport(torch, str(answer["build"])[:NAME_CHARACTERS], signs, driver, cards)
    except (OSError, SandboxError, subprocess.SubprocessError, ValueError, TypeError, KeyError) as problem:
        return DeviceReport(torch, "", signs, driver, trouble=type(problem).__name__)


def pin_device(requested: str, problem: Problem) -> PinnedDevice:
    """Choose the device of a run or an evaluation; a named device is never replaced by another.

    Raises:
        ConfigError: The name is invalid, or the device is missing.
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
    device = "cuda:0" if requested == "cuda" else requested
    for card in devices.cards:
        if card.device == device:
            return PinnedDevice(device, card.name)
    available = ", ".join(card.device for card in devices.cards)
    reason = f"there is {available}" if available else devices.why_not
    raise ConfigError(
        f"--device {requested}: no such device, {reason}; use --device {available.partition(',')[0] or CPU}"
    )


def require_device(device: str, name: str, problem: Problem) -> None:
    """Require that the pinned device of a run exists and, if recorded, is the same product."""
    if device in (AUTO, CPU):
        return
    now = pin_device(device, problem)
    if name and now.name != name:
        raise ConfigError(
            f"this run is pinned to {device}, which was {name} and is {now.name} here; scores of two devices differ in "
            "their last digits: start a new run"
        )


def is_same_device(requested: str, pinned: str) -> bool:
    """Return True if the device requested for an existing run is the pinned one."""
    return requested == pinned or (requested == "cuda" and pinned == "cuda:0")


def _ask_torch() -> dict[str, Any]:
    """Query PyTorch in a process of its own, so that a crashing driver does no harm."""
    # It keeps the devices and their drivers, which are not the same files on any two machines.
    ended = run_child([sys.executable, "-P", "-c", QUESTION], None, ChildLimits(wall_s=ASK_S))
    ended.check_returncode()
    answer: dict[str, Any] = json.loads((ended.stdout.splitlines() or [b""])[-1])
    return answer
