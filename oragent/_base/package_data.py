"""Data files of the package: problems, network weights, settings, prices.

In a checkout they are in its root; ``setup.py`` copies them to ``oragent/shipped`` of an installed package.
"""

from collections.abc import Iterator
from pathlib import Path

FOLDERS = "problems", "configs", "checkpoints"
# Files in ``configs`` that contain no settings.
OTHERS = "prices", "variants"
HERE = Path(__file__).resolve().parents[1] / "shipped"


def shipped_root() -> Path:
    """Return the folder that contains ``FOLDERS``."""
    if (HERE / "problems").is_dir():
        return HERE
    return HERE.parents[1]


def find_path(project: Path, relative: str | Path) -> Path:
    """Return the path of a file or folder in a project; the shipped one, if only that exists."""
    project_path, shipped_path = project / relative, shipped_root() / relative
    if shipped_path.exists() and not project_path.exists():
        return shipped_path
    return project_path


def find_project_root() -> Path:
    """Return the nearest folder upwards from the current one that contains problems; else the current one."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if any(folder.glob("problems/*/problem.yaml"))), here)


def shipped_problems() -> Iterator[Path]:
    """Yield the folders of the shipped problems, sorted by name."""
    yield from sorted(path.parent for path in (shipped_root() / "problems").glob("*/problem.yaml"))


def find_settings_file(path: Path) -> Path:
    """Return the path of a shipped file of a name such as ``quick``; the path itself if it exists or none ships."""
    if path.exists() or path.is_absolute():
        return path
    names = path, Path("configs") / path, Path("configs") / f"{path}.yaml"
    return next(
        (shipped_root() / name for name in names if name.parts[0] == "configs" and (shipped_root() / name).is_file()),
        path,
    )


def list_settings_names() -> list[str]:
    """Return the names of the shipped files of settings."""
    folder = shipped_root() / "configs"
    names = (path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml"))
    return sorted(name for name in names if name.split("/")[0] not in OTHERS)
