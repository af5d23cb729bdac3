"""Required packages: bounds of versions, advice that a shell can run, and mixtures of versions."""

import json
import shlex
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
import yaml

from oragent._base.errors import ProblemError
from oragent.api.run_documents import describe_run
from oragent.evaluation import required_packages
from oragent.evaluation.capabilities import list_unmet
from oragent.evaluation.problem import load_problem
from oragent.evaluation.required_packages import (
    describe_missing_package,
    describe_mixture,
    installed_version,
    package_versions,
)
from oragent.report.held_out import rescore_run
from oragent.report.run import load_run
from oragent.report.terminal import describe_trust
from oragent.search.folder import reopen
from oragent.search.store import REQUIRED_PACKAGES, Store
from tests.search.test_engine import search


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return versions by name that count as installed."""
    versions = {"pyvrp": "0.14.1"}

    def find(name: str) -> str:
        if name in versions:
            return versions[name]
        raise PackageNotFoundError(name)

    monkeypatch.setattr(required_packages, "version", find)
    monkeypatch.setattr(required_packages, "packages_distributions", lambda: {"routing": ["pyvrp"]})
    installed_version.cache_clear()
    yield versions
    installed_version.cache_clear()


@pytest.mark.parametrize(
    ("requirement", "is_met"),
    [
        ("pyvrp", True),
        ("pyvrp>=0.14", True),
        ("pyvrp >= 0.14, < 0.15", True),
        ("pyvrp==0.14.*", True),
        ("pyvrp~=0.14.0", True),
        ("pyvrp[plots]!=0.14.2", True),
        ("routing", True),
        ("routing>0.14", True),
        ("pyvrp>=0.15; python_version < '3'", True),
        ("routing.search", True),
        ("json.decoder", True),
        ("pyvrp>=0.14.2", False),
        ("pyvrp<0.14", False),
        ("pyvrp==0.12.0", False),
        ("routing<0.14.1", False),
        ("no_such_module", False),
        ("no-such-module>=1", False),
    ],
)
def test_a_requirement_is_met_within_its_bounds(installed: dict[str, str], requirement: str, is_met: bool) -> None:
    reason = describe_missing_package(requirement)
    assert (reason == "") is is_met
    if not is_met:
        # A shell would otherwise write into a file that is named like the version.
        command = shlex.split(reason.rpartition(": ")[2])
        assert not any(set(word) & set("<>") and f"'{word}'" not in reason for word in command)


def test_a_module_without_a_distribution_has_no_version_to_compare(installed: dict[str, str]) -> None:
    assert describe_missing_package("json") == ""
    assert describe_missing_package("json>=1")
    assert package_versions(["json"]) == {}


def test_a_prerelease_is_no_release(installed: dict[str, str]) -> None:
    installed["pyvrp"] = "0.15.0rc1"
    assert describe_missing_package("pyvrp>=0.15")
    assert not describe_missing_package("pyvrp>=0.14")


@pytest.mark.parametrize("requirement", ["pyvrp=>0.14", "pyvrp>", "", "a b", "x @ https://host/x.whl", "../x"])
def test_what_is_no_requirement_is_refused_when_the_problem_is_read(toy: Path, requirement: str) -> None:
    (toy / "problem.yaml").write_text((toy / "problem.yaml").read_text() + f"requires: [{json.dumps(requirement)}]\n")
    with pytest.raises(ProblemError):
        load_problem(toy)


def test_versions_are_those_of_packages_only(installed: dict[str, str]) -> None:
    names = ["pyvrp>=0.14", "routing", "program:node", "no_such_module"]
    assert package_versions(names) == {"pyvrp": "0.14.1", "routing": "0.14.1"}


def test_a_mixture_names_the_packages_that_differ() -> None:
    assert describe_mixture({"a": "1", "b": "2"}, {"a": "1", "b": "2", "c": "3"}) == ""
    assert describe_mixture({}, {"a": "1"}) == ""
    mixture = describe_mixture({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "3"})
    assert "b 2" in mixture
    assert "c 3" in mixture
    assert "a 1" not in mixture
    assert "\x1b" not in describe_mixture({"\x1b[2J": "1"}, {})


def test_a_run_keeps_the_versions_and_goes_on_with_no_others(begun: Any, toy: Path) -> None:
    (toy / "problem.yaml").write_text((toy / "problem.yaml").read_text() + "requires: ['numpy>=1']\n")
    folder = begun("budget.evaluations=4")
    search(folder)
    versions = {"numpy": version("numpy")}
    data = load_run(folder.path)
    assert data.about.packages == versions
    assert describe_run(data)["packages"] == versions
    assert any(versions["numpy"] in sentence for sentence in describe_trust(data))
    assert reopen(folder.path).problem.packages == versions
    path = folder.path / "config.yaml"
    path.write_text(path.read_text().replace(f"numpy: {versions['numpy']}", "numpy: 0.1.0"))
    for only_read in (False, True):
        with pytest.raises(ProblemError):
            reopen(folder.path, only_read=only_read)
    # It scores with the present version on purpose.
    assert reopen(folder.path, changed=True).path == folder.path


def test_the_database_of_a_run_has_the_versions(toy: Path, tmp_path: Path) -> None:
    import oragent

    (toy / "problem.yaml").write_text((toy / "problem.yaml").read_text() + "requires: [numpy]\n")
    run = oragent.run(str(toy), evaluations=3, outputs=tmp_path / "out")
    with Store(run.folder / "run.db", readonly=True) as store:
        assert json.loads(store.meta(REQUIRED_PACKAGES) or "") == {"numpy": version("numpy")}
    assert yaml.safe_load((run.folder / "config.yaml").read_text())["problem"]["packages"]
    assert rescore_run(run.folder, 1)


def test_a_problem_says_which_version_it_lacks(toy: Path) -> None:
    (toy / "problem.yaml").write_text((toy / "problem.yaml").read_text() + "requires: ['numpy<1']\n")
    (unmet,) = list_unmet(load_problem(toy))
    assert version("numpy") in unmet
