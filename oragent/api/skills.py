"""Skills for coding agents: folders with a ``SKILL.md``, which ship with the package."""

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import yaml

from oragent._base.errors import ConfigError, StoreError
from oragent._base.files import read_bounded, replace_file
from oragent._base.safe_load import parse_yaml
from oragent._base.text_format import one_line

FILE = "SKILL.md"
# Maximum number of bytes of a skill.
MAX_BYTES = 64 << 10
HEAD = re.compile(r"---\n(.*?)\n---\n(.*)", re.DOTALL)
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Skill:
    """Instructions for one kind of task."""

    name: str
    # When an agent should use it.
    description: str
    # Whole text of ``SKILL.md``.
    text: str


def parse_skill(text: str, source: str) -> Skill:
    """Read a skill: a head of YAML with ``name`` and ``description`` between lines ``---``, then Markdown.

    Raises:
        ConfigError: The text has another form.
    """
    match = HEAD.fullmatch(text)
    try:
        head = parse_yaml(match[1]) if match else None
    except yaml.YAMLError:
        head = None
    if not isinstance(head, dict) or not all(isinstance(head.get(key), str) for key in ("name", "description")):
        raise ConfigError(f"{source}: expected a head with name and description between two lines ---")
    if not NAME.fullmatch(head["name"]):
        raise ConfigError(f"{source}: the name {one_line(head['name'], 40)!r} must have small letters and hyphens only")
    return Skill(head["name"], head["description"], text)


def list_skills() -> tuple[Skill, ...]:
    """Return the skills that ship with the package, by name."""
    folders = sorted(Path(str(files("oragent"))).joinpath("skills").glob(f"*/{FILE}"))
    return tuple(parse_skill(path.read_text(encoding="utf-8"), path.parent.name) for path in folders)


def find_skill(name: str) -> Skill:
    """Return a skill by its name.

    Raises:
        ConfigError: There is no such skill.
    """
    skills = {skill.name: skill for skill in list_skills()}
    if name not in skills:
        raise ConfigError(f"no skill {one_line(name, 40)!r}: there are {', '.join(skills)}")
    return skills[name]


def install_skills(folder: Path, names: tuple[str, ...] = (), *, replace: bool = False) -> tuple[Path, ...]:
    """Write skills into a folder, ``NAME/SKILL.md`` each.

    Args:
        folder: Folder of skills of a coding agent, such as ``.claude/skills``.
        names: Names of skills; empty: all.
        replace: Whether to replace a file that was changed.

    Returns:
        The files.

    Raises:
        ConfigError: A name is unknown, or a file of another text exists.
        StoreError: A file cannot be written.
    """
    skills = [find_skill(name) for name in names] or list(list_skills())
    paths = tuple(folder / skill.name / FILE for skill in skills)
    for path, skill in zip(paths, skills, strict=True):
        if path.is_symlink() or path.parent.is_symlink():
            raise ConfigError(f"{path} is a link: remove it first")
        if not replace and path.is_file() and _read(path) != skill.text:
            raise ConfigError(f"{path} exists with another text: --replace writes over it")
    try:
        for path, skill in zip(paths, skills, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, skill.text)
    except OSError as problem:
        raise StoreError(f"cannot write into {folder}: {problem}") from None
    return paths


def _read(path: Path) -> str:
    try:
        return read_bounded(path, MAX_BYTES)
    except (OSError, ValueError, StoreError):
        return ""
