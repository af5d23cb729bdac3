"""Programs that were discovered and ship with oragent, as functions: ``from oragent.discovered import load``.

They run in your process, without the sandbox. ``oragent discovered`` lists them with the evidence for each.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oragent._base.errors import ProblemError
from oragent.evaluation.discovered import find_discovered, list_discovered
from oragent.evaluation.problem import find_problem, find_project_root


def load(problem: str, title: str | None = None, *, root: str | Path | None = None) -> Callable[..., Any]:
    """Return the function of a discovered program.

    Args:
        problem: Name of a problem, such as ``bpp_online``.
        title: Title of the program; None means the first one.
        root: Root of the project; None: the nearest folder upwards with problems, and those that ship.

    Raises:
        ProblemError: The problem or the program does not exist, or the program is not in Python.
    """
    resolved = find_problem(problem, find_project_root(Path(root) if root else None))
    titles = list_discovered(resolved)
    if title is None and not titles:
        raise ProblemError(f"{resolved.name} has no discovered programs")
    path = find_discovered(resolved, title or next(iter(titles)))
    if path.suffix != ".py":
        raise ProblemError(f"{path} is not in Python: compile it with your own program")
    spec = importlib.util.spec_from_file_location(f"discovered_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., Any] = getattr(module, resolved.about.function)
    return function
