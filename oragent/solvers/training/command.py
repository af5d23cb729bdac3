"""``oragent train``: check what is asked, then hand over to the parts that need PyTorch."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from oragent._base.distribution import extra_install_command
from oragent._base.errors import ConfigError
from oragent.solvers.training.request import TrainRequest


def run(request: TrainRequest, root: Path, *, export: bool) -> list[str]:
    """Train, or only export what a training has reached.

    Args:
        request: Request: problem, folder and limits of the sitting.
        root: Root of the project: weights go to its ``checkpoints``.
        export: Whether only to measure and write the weights of the training as it is, without going on.

    Returns:
        Lines for a person.

    Raises:
        OragentError: one line on what is wrong or missing.
    """
    for package in ("torch", "safetensors"):
        if find_spec(package) is None:
            raise ConfigError(f"training needs {package}, which is not installed: {extra_install_command('neural')}")
    # PyTorch takes a second to import and may be missing: only who trains pays for it.
    if not export:
        state = import_module("oragent.solvers.training.trainer").train(request)
        if not state.schedule.ended(state.step):
            return [f"{state.step} steps, {state.cpu_s / 3600:.2f} CPU hours: {request.folder}; run again to go on"]
    return list(import_module("oragent.solvers.training.export").export(request, root))
