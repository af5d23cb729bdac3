"""Templates of prompts: text files with placeholders such as ``$name``, of a package or, in their place, of a user."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from string import Template

from oragent._base.errors import ConfigError
from oragent._base.files import read_argument

SUFFIX = ".txt"
# First line of a template of a user that leaves out placeholders of the shipped one.
WITHOUT = re.compile(r"# without((?:[ ,]+\$\w+)+)[ \t]*(?:\n|\Z)")
MAX_TEMPLATE_BYTES = 100_000


@dataclass(frozen=True)
class PromptFolder:
    """Folder with the templates of a package.

    Attributes:
        package: Package that has the folder, such as ``oragent.formulate``.
        folder: Path of the folder within the package.
    """

    package: str
    folder: str = "prompts"

    def fill(self, template: str, style: str = "", own: Mapping[str, str] | None = None, /, **values: object) -> str:
        """Fill a template by its name; inserted values are not expanded as templates.

        Args:
            template: Name of the file without its ending.
            style: Wording for models of a style: ``NAME.STYLE.txt`` if it exists, else ``NAME.txt``.
            own: Templates of the user by name, which replace those of the package in every style.
            values: A value for each placeholder.

        Raises:
            KeyError: A placeholder has no value.
        """
        text = self.read(template, style, own).substitute({name: str(value) for name, value in values.items()})
        return text.strip()

    def read(self, template: str, style: str = "", own: Mapping[str, str] | None = None) -> Template:
        """Return a template by its name."""
        for name in (f"{template}.{style}", template):
            if own and name in own:
                return Template(own[name])
        return _read_template(self, template, style)

    def list_names(self) -> list[str]:
        """Return the names of all templates, each with its styles after it: ``repair``, ``repair.strong``."""
        folder = files(self.package) / self.folder
        return sorted(file.name.removesuffix(SUFFIX) for file in folder.iterdir() if file.name.endswith(SUFFIX))

    def list_placeholders(self, name: str) -> tuple[set[str], set[str]]:
        """Return the placeholders that some wording of a template has, and those that every wording has."""
        stem = name.partition(".")[0]
        wordings = [wording for wording in self.list_names() if wording.partition(".")[0] == stem]
        fields = [set(_read_template(self, *split_style(wording)).get_identifiers()) for wording in wordings]
        return set.union(*fields), set.intersection(*fields)

    def read_own(self, folder: Path) -> dict[str, str]:
        """Read the templates of a user, which replace those of the package with the same name.

        Raises:
            ConfigError: The folder is empty, a name is unknown, or placeholders differ from the shipped template.
        """
        try:
            paths = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)
        except OSError as problem:
            raise ConfigError(f"{folder}: expected a folder of prompts ({problem.strerror})") from None
        if not paths:
            raise ConfigError(f"{folder} has no prompts: expected files such as {self.list_names()[0]}{SUFFIX}")
        return {path.name.removesuffix(SUFFIX): self._read_own_template(path) for path in paths}

    def _read_own_template(self, path: Path) -> str:
        name, names = path.name.removesuffix(SUFFIX), self.list_names()
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            advice = f"; the nearest is {near[0]}{SUFFIX}" if near else ""
            raise ConfigError(f"{path}: unknown prompt{advice}: 'oragent prompts' lists all")
        text = read_argument(path, "a prompt", MAX_TEMPLATE_BYTES)
        left_out: set[str] = set()
        if match := WITHOUT.match(text):
            text, left_out = text[match.end() :], set(re.findall(r"\w+", match[1]))
        template = Template(text)
        if not template.is_valid():
            raise ConfigError(
                f"{path}: a '$' stands alone: expected a placeholder such as $problem, or $$ for the sign"
            )
        fields = set(template.get_identifiers())
        allowed, required = self.list_placeholders(name)
        if unknown := (fields | left_out) - allowed:
            raise ConfigError(f"{path}: {_join(unknown)} has no value: expected {_join(allowed) or 'no placeholder'}")
        if missing := required - fields - left_out:
            raise ConfigError(
                f"{path} lacks {_join(missing)}: insert it, or begin the file with the line "
                f"'# without {_join(missing)}'"
            )
        return text


def _join(names: set[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))


def split_style(wording: str) -> tuple[str, str]:
    """Return name and style of a wording such as ``repair.strong``; the style may be empty."""
    name, _, style = wording.partition(".")
    return name, style


@lru_cache
def _read_template(prompts: PromptFolder, name: str, style: str) -> Template:
    folder = files(prompts.package) / prompts.folder
    styled = folder / f"{name}.{style}{SUFFIX}"
    path = styled if style and styled.is_file() else folder / f"{name}{SUFFIX}"
    return Template(path.read_text(encoding="utf-8"))
