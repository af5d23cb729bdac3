"""Puts problems, weights, settings and prices into an installed copy; all else is said in ``pyproject.toml``."""

from collections.abc import Iterator
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
# By name, as these folders may also hold official files, which are their owners' and never shipped.
SHIPPED = (
    "problems/*/*.py", "problems/*/*.yaml", "problems/*/*.json", "problems/*/*.md",
    "problems/*/discovered/*", "problems/*/references/*.py",
    "configs/*.yaml", "configs/*/*.yaml",
    "checkpoints/*.safetensors", "checkpoints/manifest.yaml",
)  # fmt: skip


class WithShipped(build_py):
    """Copies what ships to ``oragent/shipped``; an editable installation finds it in the checkout."""

    def run(self) -> None:
        """Build modules and data, then what ships."""
        super().run()
        if not self.editable_mode:
            for source, target in self._shipped():
                self.mkpath(str(target.parent))
                self.copy_file(str(source), str(target))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Name the files that are made."""
        own = [] if self.editable_mode else [str(target) for _, target in self._shipped()]
        return [*super().get_outputs(include_bytecode), *own]

    def _shipped(self) -> Iterator[tuple[Path, Path]]:
        folder = Path(self.build_lib) / "oragent" / "shipped"
        for pattern in SHIPPED:
            for source in sorted(ROOT.glob(pattern)):
                yield source, folder / source.relative_to(ROOT)


setup(cmdclass={"build_py": WithShipped})
