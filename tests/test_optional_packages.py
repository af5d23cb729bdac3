"""The core works without the packages of extras, and what needs one says how to install it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pydantic import SecretStr

from oragent._base import distribution
from oragent._base.errors import ConfigError
from oragent.formulate.running import FormulationRunner
from oragent.llm import prices
from oragent.llm.endpoint import Endpoint
from oragent.llm.gateway import Gateway
from oragent.llm.prices import price_package_hint
from oragent.report.pages.charts import require_matplotlib
from oragent_benchmarks.converse.agents.sandboxed_programs import SandboxedPrograms

ROOT = Path(__file__).parents[1]
# Modules that only run in a process of the sandbox, which the products start after the check.
IN_THE_SANDBOX = {"oragent_benchmarks.converse.agents.formulating"}
CHECK = """
import importlib, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"refused: {{name}}", name=name)

sys.meta_path.insert(0, Refuse())
for module in {modules}:
    importlib.import_module(module)
"""


def optional_packages() -> set[str]:
    """Modules of the small extras, and packages that oragent no longer depends on."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = ("figures", "formulate", "models", "web", "workspace")
    lines = [line for extra in extras for line in about["optional-dependencies"][extra] if "[" not in line]
    return {re.split("[<>=]", line)[0].replace("-", "_") for line in lines} | {"optuna", "cmaes", "packaging"}


@pytest.mark.slow
def test_every_command_is_imported_without_the_optional_packages() -> None:
    files = [*(ROOT / "oragent" / "cli").glob("*.py"), *(ROOT / "oragent").glob("*/command.py")]
    modules = sorted(".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files)
    modules = [module.removesuffix(".__init__") for module in modules if module not in IN_THE_SANDBOX]
    assert len(modules) > 10
    code = CHECK.format(names=optional_packages(), modules=modules)
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("package", "extra", "use"),
    [
        ("pulp", "formulate", lambda: FormulationRunner(None)),
        ("pulp", "formulate", lambda: SandboxedPrograms(None)),
        ("openai", "models", lambda: Endpoint("http://127.0.0.1:9", Gateway(SecretStr("key")), 1.0)),
        ("matplotlib", "figures", require_matplotlib),
    ],
)
def test_a_missing_package_is_one_line_with_the_command_that_installs_it(
    package: str, extra: str, use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distribution, "find_spec", lambda name: None)
    with pytest.raises(ConfigError) as raised:
        use()
    assert package in str(raised.value)
    assert distribution.extra_install_command(extra) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_unknown_price_names_the_extra_with_list_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert price_package_hint() == ""
    monkeypatch.setattr(prices, "describe_price_package", lambda: "")
    assert distribution.extra_install_command("models") in price_package_hint()
