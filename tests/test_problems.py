"""Every problem keeps the contract; a new one is covered without a new test."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from oragent.authoring import Finding, Level, check
from oragent.search.problem import load

ROOT = Path(__file__).parent.parent
PROBLEMS = sorted(path.parent for path in (ROOT / "problems").glob("*/problem.yaml"))

# Warnings that a problem may have: its name and the finding's title, each with the reason.
ALLOWED: dict[tuple[str, str], str] = {}


def complaints(folder: Path, quick: bool) -> list[Finding]:
    for module in load(folder).about.requires:
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    findings = check(folder, ROOT, quick=quick)
    return [
        finding
        for finding in findings
        if finding.level is Level.FAILURE
        or (finding.level is Level.WARNING and (folder.name, finding.title) not in ALLOWED)
    ]


@pytest.mark.parametrize("folder", PROBLEMS, ids=lambda folder: folder.name)
def test_a_problem_keeps_the_contract(folder: Path) -> None:
    assert complaints(folder, quick=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("folder", PROBLEMS, ids=lambda folder: folder.name)
def test_a_problem_keeps_the_contract_in_a_full_check(folder: Path) -> None:
    assert complaints(folder, quick=False) == []
