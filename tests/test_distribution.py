"""Hints name our distribution, and the way in which this copy was installed."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, PackageNotFoundError
from pathlib import Path

import pytest

from oragent._base import distribution
from oragent._base.errors import ConfigError
from oragent.formulate.running import FormulationRunner as FormulateRunner
from oragent_benchmarks.converse.agents.sandboxed_programs import SandboxedPrograms

ROOT = Path(__file__).parents[1]
WHEEL = "operations-research-agents"


class Installed:
    """A distribution as ``importlib.metadata`` shows it."""

    version = "0.1.0"

    def __init__(self, **files: str) -> None:
        self._files = {name.replace("_json", ".json"): text for name, text in files.items()}

    def read_text(self, name: str) -> str | None:
        return self._files.get(name)


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Pretend that this copy was installed in some way; its environment is ``tmp_path``."""
    (tmp_path / "bin").mkdir()
    for name in ("pip", "python"):
        (tmp_path / "bin" / name).write_text("")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(distribution, "PACKAGE", tmp_path / "site-packages" / "oragent")

    cached = (distribution._checkout_root, distribution._installed_distribution, distribution._supported_requirements)

    def pretend(installed: Installed | None, *others: str) -> None:
        def find(name: str) -> Installed:
            if installed is None or name not in (WHEEL, *others):
                raise PackageNotFoundError(name)
            return installed

        monkeypatch.setattr(distribution, "distribution", find)
        for known in cached:
            known.cache_clear()

    yield pretend
    for known in cached:
        known.cache_clear()


def test_the_name_is_that_of_the_project_and_no_extra_names_another() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert distribution.NAME == about["name"] == WHEEL
    assert about["optional-dependencies"]["all"] == [
        f"{WHEEL}[cluster,driving,figures,formulate,frameworks,mcp,models,neural,pdf,solvers,tables,web,workspace]"
    ]


def test_no_text_of_ours_tells_anybody_to_install_the_strangers_package() -> None:
    pattern = r"""install( -[-a-zA-Z]+)* ['"]?oragent([]['" =]|$)"""
    assert re.search(pattern, "pip install -U 'oragent[neural]'")
    listed = ["git", "grep", "-nE", pattern, "--", "*.py", "*.md", "*.yaml"]
    found = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    assert [line for line in found if not line.startswith("tests/test_distribution.py")] == []


def test_in_a_checkout_the_hint_installs_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert distribution.extra_install_command("neural").endswith(f"pip install -e '{ROOT}[neural]'")
    monkeypatch.chdir(ROOT)
    assert distribution.extra_install_command("neural").endswith("pip install -e '.[neural]'")


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        ({}, f"{WHEEL}[neural]==0.1.0"),
        ({"url": "file:///w/x.whl", "archive_info": {}}, f"{WHEEL}[neural] @ file:///w/x.whl"),
        ({"url": "file:///w/oragent", "dir_info": {}}, f"{WHEEL}[neural] @ file:///w/oragent"),
        (
            {"url": "https://x.org/o.git", "vcs_info": {"vcs": "git", "commit_id": "ab12"}},
            f"{WHEEL}[neural] @ git+https://x.org/o.git@ab12",
        ),
    ],
)
def test_a_copy_gets_its_extra_from_where_it_came(origin: dict[str, object], wanted: str, copy) -> None:
    copy(Installed(direct_url_json=json.dumps(origin), INSTALLER="pip\n"))
    assert distribution.extra_install_command("neural") == f"pip install '{wanted}'"
    assert distribution.package_install_command("pandas") == "pip install pandas"


def test_a_hint_calls_the_pip_of_this_python(copy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copy(Installed())
    monkeypatch.setenv("PATH", "/usr/bin")
    assert distribution.package_install_command("pandas") == f"{tmp_path}/bin/python -m pip install pandas"
    copy(Installed(INSTALLER="uv"))
    assert distribution.package_install_command("pandas") == "uv pip install pandas"


def test_what_keeps_programs_apart_is_asked_in_its_own_words(copy, tmp_path: Path) -> None:
    copy(Installed())
    (tmp_path / "pipx_metadata.json").write_text("{}")
    assert distribution.extra_install_command("driving") == f"pipx install --force '{WHEEL}[driving]==0.1.0'"
    assert distribution.package_install_command("pandas") == f"pipx inject {WHEEL} pandas"
    (tmp_path / "pipx_metadata.json").rename(tmp_path / "uv-receipt.toml")
    assert distribution.extra_install_command("driving") == f"uv tool install --force '{WHEEL}[driving]==0.1.0'"
    assert distribution.package_install_command("pandas") == f"uv tool install --with pandas {WHEEL}"


def test_a_copy_that_nobody_installed_is_told_the_name(copy) -> None:
    copy(None)
    assert distribution.extra_install_command("neural") == f"pip install '{WHEEL}[neural]'"
    assert distribution.describe_name_conflict() == ""


def test_a_strangers_package_in_the_same_place_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "distribution", lambda name: Installed())
    assert "the distribution oragent 0.1.0 is installed here too" in distribution.describe_name_conflict()


def test_a_checkout_asks_for_the_versions_of_its_project_file_and_this_environment_has_them() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [requirement.name for requirement in distribution._supported_requirements()]
    names = set(listed)
    assert listed == sorted(listed)
    assert {re.split("[<>=]", line)[0] for line in about["dependencies"]} <= names
    assert "torch" in names
    assert not {"mypy", "sphinx", WHEEL} & names
    assert distribution.unsupported_versions() == []


@pytest.mark.parametrize(
    ("version", "fits"), [("3.2.9", False), ("3.3.0", True), ("3.9", True), ("3.4.0rc1", True), ("4.2.0", False)]
)
def test_a_version_that_does_not_fit_is_one_line_for_doctor_and_for_products(version: str, fits: bool, copy) -> None:
    installed = Installed(INSTALLER="pip")
    installed.version = version
    installed.requires = ["pulp<4,>=3.3", "mypy>=9; extra == 'test'", 'torch>=9; extra == "neural"']
    copy(installed, "pulp")
    assert {requirement.name for requirement in distribution._supported_requirements()} == {"pulp", "torch"}
    if fits:
        distribution.require_supported_version("pulp")
        assert distribution.unsupported_versions() == []
        return
    line = f"pulp {version} is installed, oragent supports pulp<4,>=3.3: pip install 'pulp<4,>=3.3'"
    assert distribution.unsupported_versions() == [line]
    for product in (FormulateRunner, SandboxedPrograms):
        with pytest.raises(ConfigError, match=f"^{re.escape(line)}$"):
            product(None)


def test_benchmarks_whose_folder_is_gone_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("benchmarks", "benchmarks_of_a_removed_checkout", distribution.BENCHMARKS)
    monkeypatch.setattr(distribution, "entry_points", lambda group: [entry])
    # Without the cache of earlier imports.
    with pytest.raises(ConfigError):
        distribution.import_benchmarks.__wrapped__("cli.app")
