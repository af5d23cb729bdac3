"""What an installed copy offers beside its commands: completion, settings, copies of problems."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from oragent._base import package_data
from oragent.search.config import build_config
from tests.cli.test_cli import environment, oragent

SHELL = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"  # else the shell that runs the tests is asked for


@pytest.mark.parametrize(("shell", "where"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", ".config/fish")])
def test_completion_is_installed_for_a_shell(shell: str, where: str, tmp_path: Path) -> None:
    done = oragent("--install-completion", shell, cwd=tmp_path, HOME=str(tmp_path), **{SHELL: "1"})
    assert done.returncode == 0, done.stderr
    assert f"{shell} completion installed" in done.stdout
    assert (tmp_path / where).exists()


@pytest.mark.slow
def test_a_shell_completes_the_names_of_problems(toy: Path, tmp_path: Path) -> None:
    program = "import sys; from oragent.__main__ import main; sys.argv = ['oragent']; main()"

    def offered(words: str, number: int) -> list[str]:
        asked = {"_ORAGENT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(number)}
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, env=environment(**asked), capture_output=True, text=True
        )
        return done.stdout.split()

    assert offered("oragent run tsp_", 2) == ["tsp_aco", "tsp_constructive", "tsp_gls", "tsp_lehd", "tsp_pomo"]
    assert offered("oragent run to", 2) == ["toy"]
    assert offered("oragent resu", 1) == ["resume"]


def test_settings_are_printed_as_a_file_that_is_the_defaults(tmp_path: Path) -> None:
    printed = oragent("settings", cwd=tmp_path).stdout
    assert (
        printed.strip()
        == (package_data.shipped_root() / "configs" / "default.yaml").read_text(encoding="utf-8").strip()
    )
    assert build_config(yaml.safe_load(printed), (), "printed") == build_config({}, (), "nothing")


@pytest.mark.slow
def test_a_copied_problem_is_what_its_name_means_from_then_on(tmp_path: Path) -> None:
    done = oragent("problems", "--copy", "bpp_online", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    copied = tmp_path / "problems" / "bpp_online"
    assert str(copied) in done.stdout
    (copied / "eval.py").write_text("raise SystemExit('mine')\n")
    assert "mine" in oragent("eval", "bpp_online", cwd=tmp_path).stdout
    again = oragent("problems", "--copy", "bpp_online", cwd=tmp_path)
    assert again.returncode == 1
    assert "already exists: name another folder" in again.stderr
