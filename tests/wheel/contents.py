"""What a wheel and an sdist must hold, by what git knows."""

import ast
import subprocess
from pathlib import Path

__all__ = ["SHIPPED", "in_sdist", "in_wheel", "tracked"]

ROOT = Path(__file__).parents[2]


def _shipped() -> tuple[str, ...]:
    """The patterns of ``setup.py``, which cannot be imported without building."""
    for node in ast.parse((ROOT / "setup.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SHIPPED":
            found: tuple[str, ...] = ast.literal_eval(node.value)
            return found
    raise LookupError("setup.py names nothing that ships")


SHIPPED = _shipped()


def tracked(root: Path) -> set[str]:
    """Paths of all files that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    return {path for path in listed.split("\0") if path and (root / path).is_file()}


def in_wheel(known: set[str]) -> set[str]:
    """Paths of a wheel's files, but for those that describe it."""
    code = {path for path in known if path.startswith("oragent/")}
    data = {path for path in known if path.split("/")[0] in ("problems", "configs", "checkpoints")}
    return code | {f"oragent/shipped/{path}" for path in data if not path.endswith(".gitkeep")}


def in_sdist(known: set[str]) -> set[str]:
    """Paths that an sdist must hold, below its one folder: all but what only a clone has a use for."""
    return {path for path in known if Path(path).name not in (".gitkeep", ".gitignore")}
