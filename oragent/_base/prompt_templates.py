"""Templates of prompts: text files of a package with placeholders such as ``$name``."""

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from string import Template


@dataclass(frozen=True)
class PromptFolder:
    """Folder with the templates of a package.

    Attributes:
        package: Package that has the folder, such as ``oragent.formulate``.
        folder: Path of the folder within the package.
    """

    package: str
    folder: str = "prompts"

    def fill(self, template: str, style: str = "", /, **values: object) -> str:
        """Fill a template by its name; inserted values are not expanded as templates.

        Args:
            template: Name of the file without its ending.
            style: Wording for models of a style: ``NAME.STYLE.txt`` if it exists, else ``NAME.txt``.
            values: A value for each placeholder.

        Raises:
            KeyError: A placeholder has no value.
        """
        text = self.read(template, style).substitute({name: str(value) for name, value in values.items()})
        return text.strip()

    def read(self, template: str, style: str = "") -> Template:
        """Return a template by its name."""
        return _read_template(self, template, style)


@lru_cache
def _read_template(prompts: PromptFolder, name: str, style: str) -> Template:
    folder = files(prompts.package) / prompts.folder
    styled = folder / f"{name}.{style}.txt"
    path = styled if style and styled.is_file() else folder / f"{name}.txt"
    return Template(path.read_text(encoding="utf-8"))
