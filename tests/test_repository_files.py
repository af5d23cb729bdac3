"""Files that hosts and contributors look for in a repository are valid, and name commands and pages that exist."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import oragent

ROOT = Path(__file__).parents[1]
YAML = [
    *sorted((ROOT / ".github").rglob("*.yml")),
    ROOT / ".pre-commit-config.yaml",
    ROOT / "conda.recipe/recipe.yaml",
]
ABOUT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


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


def test_a_release_is_built_checked_signed_and_published_without_a_token() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    commands = " ".join(step.get("run", "") for step in steps)
    assert "make dist" in commands
    assert "twine check --strict" in commands
    used = {step["uses"].partition("@")[0] for step in steps if "uses" in step}
    assert {"actions/attest-build-provenance", "pypa/gh-action-pypi-publish"} <= used
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["environment"]["url"].endswith(f"/{ABOUT['name']}/")
    assert "secrets." not in text


def test_the_tag_of_a_release_is_compared_with_the_version(tmp_path: Path) -> None:
    steps = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]["build"]["steps"]
    (command,) = [step["run"] for step in steps if "__version__" in step.get("run", "")]
    for tag, code in ((f"v{oragent.__version__}", 0), ("v9.9.9", 1)):
        environment = {"PATH": os.environ["PATH"], "GITHUB_REF_NAME": tag}
        assert subprocess.run(["sh", "-c", command], cwd=ROOT, env=environment, check=False).returncode == code


def test_the_recipe_of_conda_has_the_requirements_of_the_package() -> None:
    recipe = yaml.safe_load((ROOT / "conda.recipe/recipe.yaml").read_text())
    wanted = {text.replace(" ", "") for text in ABOUT["dependencies"]}
    listed = {text.replace(" ", "") for text in recipe["requirements"]["run"]}
    assert listed == wanted | {"python>=3.11", "libseccomp"}
    assert recipe["context"] == {"name": ABOUT["name"], "version": oragent.__version__}
    assert recipe["build"]["python"]["entry_points"] == [f"oragent = {ABOUT['scripts']['oragent']}"]


@pytest.mark.parametrize("name", ["Dockerfile", ".devcontainer/Dockerfile"])
def test_containers_run_as_an_ordinary_user_with_the_filter_of_system_calls(name: str) -> None:
    text = (ROOT / name).read_text()
    assert re.findall(r"^USER (\S+)", text, re.MULTILINE)[-1] != "root"
    assert "libseccomp2" in text


def test_the_development_container_has_no_further_rights() -> None:
    lines = (ROOT / ".devcontainer/devcontainer.json").read_text().splitlines()
    tree = json.loads("\n".join(line for line in lines if not line.strip().startswith("//")))
    assert (ROOT / ".devcontainer" / tree["build"]["dockerfile"]).is_file()
    assert tree["remoteUser"] != "root"
    assert not {"--privileged", "--cap-add"} & set(tree["runArgs"])
