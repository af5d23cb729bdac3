"""A process that starts again has nothing in its memory but what a stranger's program may find."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oragent.sandbox.isolation import kernel
from oragent.sandbox.isolation.environment import RESTARTED

PACKAGES = str(Path(kernel.__file__).parents[2])
SCRIPT = """
import os, sys
from oragent.sandbox.isolation.environment import restart_without_secrets
print("begun", flush=True)
restart_without_secrets()
print(sys.argv[1:], sys.flags.dont_write_bytecode, "KEY" in os.environ, os.environ.get("OMP_NUM_THREADS"))
if sys.platform == "linux":
    print(b"KEY=" in open("/proc/self/environ", "rb").read())
"""


def started(*words: str, text: str = "", **variables: str) -> str:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": PACKAGES, **variables}
    command = [sys.executable, *words]
    return subprocess.run(command, env=environment, input=text, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "script.py").write_text(SCRIPT)
    return str(tmp_path / "script.py")


def test_a_key_is_gone_from_its_memory_and_all_else_is_as_it_was(script: str) -> None:
    told = started("-B", script, "a word", "--flag=x", OPENAI_API_KEY="secret", KEY="x", OMP_NUM_THREADS="1")
    end = "['a word', '--flag=x'] 1 False 1\n" + ("False\n" if sys.platform == "linux" else "")
    assert told == f"begun\nbegun\n{end}"


def test_without_anything_to_hide_it_goes_on(script: str) -> None:
    assert started(script).count("begun") == 1
    assert started(script, HOME="/x", TERM="dumb", LANG="C.UTF-8").count("begun") == 1


def test_it_starts_again_once_at_most(script: str) -> None:
    assert started(script, KEY="x", **{RESTARTED: "1"}).count("begun") == 1


def test_a_program_from_standard_input_cannot_start_again_and_goes_on() -> None:
    assert started("-", text=SCRIPT, KEY="x").startswith("begun\n[] 0 True None\n")


def test_modules_and_programs_on_the_command_line_start_again_too(script: str) -> None:
    assert started("-c", SCRIPT, "a", KEY="x").count("begun") == 2
    folder = str(Path(script).parent)
    assert started("-m", "script", "a", KEY="x", PYTHONPATH=f"{PACKAGES}{os.pathsep}{folder}").count("begun") == 2
