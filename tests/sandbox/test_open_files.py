"""A low limit on open files is raised, or named in one line."""

import resource
import subprocess
import sys
from collections.abc import Iterator

import pytest

from oragent.sandbox.sandbox import require_open_files

PROGRAM = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from oragent._base.errors import SandboxError
from oragent.sandbox.sandbox import Sandbox
try:
    Sandbox()
except SandboxError as problem:
    print(problem)
"""


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_low_soft_limit_is_raised(limits: tuple[int, int]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, limits[1]))
    require_open_files(150)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (150, limits[1])
    require_open_files(120)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (150, limits[1])


def test_a_low_hard_limit_is_named_with_the_remedy() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert "ulimit -n" in ended.stdout
    assert len(ended.stdout.splitlines()) == 1
