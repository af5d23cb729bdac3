"""Files that hosts and contributors look for in a repository are valid, and name commands and pages that exist."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
YAML = [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / ".pre-commit-config.yaml"]


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_yaml_files_can_be_read(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text()), dict)


def test_the_workflow_runs_the_passes_of_this_repository() -> None:
    (job,) = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert ".ci/run" in commands
    assert (ROOT / ".ci/run").stat().st_mode & 0o100
    (pythons,) = [
        step["with"]["python-version"].split() for step in job["steps"] if "setup-python" in step.get("uses", "")
    ]
    about = (ROOT / "pyproject.toml").read_text()
    assert set(pythons) == set(re.findall(r"Python :: (3\.\d+)", about))


def test_hooks_run_the_checks_of_make_lint() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    targets = subprocess.run(["make", "-n", "lint"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for hook in hooks:
        tool = hook["entry"].split(" --force-exclude")[0]
        assert tool in targets


@pytest.mark.parametrize("name", ["SECURITY.md", "CONTRIBUTING.md"])
def test_links_of_top_level_pages_lead_to_files(name: str) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / name).read_text())
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
