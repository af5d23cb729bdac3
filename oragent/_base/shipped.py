"""What ships with oragent beside its code: problems, weights of networks, settings, prices.

In a checkout they lie in its root; ``setup.py`` copies them to ``oragent/shipped`` of an installed package.
"""

from collections.abc import Iterator
from pathlib import Path

FOLDERS = "problems", "configs", "checkpoints"
OTHERS = "prices", "variants"  # in the folder of settings, and none themselves
HERE = Path(__file__).resolve().parents[1] / "shipped"


def root() -> Path:
    """The folder that holds ``FOLDERS``."""
    return HERE if (HERE / "problems").is_dir() else HERE.parents[1]


def place(project: Path, relative: str | Path) -> Path:
    """A file or folder as a project has it; as it ships, where the project has none and something ships.

    Args:
        project: Root of the project.
        relative: Path from the root, the same in both.
    """
    own, ours = project / relative, root() / relative
    return ours if ours.exists() and not own.exists() else own


def project() -> Path:
    """The nearest folder that has problems in it, from here upwards; else here."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if any(folder.glob("problems/*/problem.yaml"))), here)


def problems() -> Iterator[Path]:
    """The folders of the problems that ship, by name."""
    yield from sorted(path.parent for path in (root() / "problems").glob("*/problem.yaml"))


def settings(given: Path) -> Path:
    """A file of settings: itself, or the one that ships under this name, such as ``quick`` or ``configs/quick.yaml``.

    Args:
        given: What was named; it comes back as it is where nothing of that name ships.
    """
    if given.exists() or given.is_absolute():
        return given
    names = given, Path("configs") / given, Path("configs") / f"{given}.yaml"
    return next((root() / name for name in names if name.parts[0] == "configs" and (root() / name).is_file()), given)


def settings_names() -> list[str]:
    """The names by which files of settings that ship can be had."""
    folder = root() / "configs"
    found = (path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml"))
    return sorted(name for name in found if name.split("/")[0] not in OTHERS)
