"""Compiled kernels that are older than any source are dropped before one is loaded, and not by an import alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oragent.solvers import kernels


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sources, and what was compiled of them."""
    cache = tmp_path / "__pycache__"
    cache.mkdir()
    for name, seconds in (
        ("called.py", 200),
        ("calls.py", 100),
        ("__pycache__/old.nbi", 150),
        ("__pycache__/new.nbc", 300),
    ):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (seconds, seconds))
    (cache / "calls.pyc").touch()
    os.utime(cache / "calls.pyc", (1, 1))
    return tmp_path


def test_what_is_older_than_any_source_goes(folder: Path) -> None:
    kernels.drop_stale(folder)
    assert sorted(path.name for path in (folder / "__pycache__").iterdir()) == ["calls.pyc", "new.nbc"]


def test_a_kernel_drops_what_is_stale_before_it_is_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "__file__", str(folder / "kernels.py"))
    old = folder / "__pycache__" / "old.nbi"
    seen: list[bool] = []

    def compile_nothing(**options: object) -> None:
        seen.append(old.exists())
        raise NotImplementedError

    monkeypatch.setattr(kernels, "njit", compile_nothing)
    with pytest.raises(NotImplementedError):
        kernels.kernel(["signature"])(run)
    assert seen == [False]


SOLVE = """
import sys
import numpy as np
from oragent.solvers.aco_tsp import solve_tsp
rng = np.random.default_rng(0)
distances = rng.random((20, 20))
print(float(solve_tsp(distances, 1 / (distances + 1), rng, iterations=5).cost), "numba.np.arraymath" in sys.modules)
"""
COMPILE = "from numba import njit; assert njit(lambda x: 2 * np.sum(x))(distances) > 0"


def run(code: str, cache: Path, **more: str) -> str:
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **more}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=variables)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_cached_kernel_is_loaded_without_the_compiler_which_works_afterwards(tmp_path: Path) -> None:
    cost, is_prepared = run(SOLVE, tmp_path).split()
    assert (float(cost) > 0, is_prepared) == (True, "True")
    assert run(SOLVE + COMPILE, tmp_path).split() == [cost, "False"]


DOUBLE = """
from oragent.solvers.kernels import kernel

@kernel(["f8(f8)"])
def double(x):
    return 2 * x
"""


def double(folder: Path, cache: Path, **variables: str) -> str:
    """Call a kernel in a new process; return its result and the counts of its cache."""
    (folder / "own.py").write_text(DOUBLE)
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); from own import double; "
    return run(f"{code}print(double(4.0), getattr(double, 'stats', ''))", cache, **variables)


def test_without_compilation_a_kernel_is_a_function_of_python(tmp_path: Path) -> None:
    assert double(tmp_path, tmp_path / "cache", NUMBA_DISABLE_JIT="1").split() == ["8.0"]


def test_a_kernel_needs_no_folder_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer = double(tmp_path, tmp_path / "file" / "cache", NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator")
    assert answer.split()[0] == "8.0"


@pytest.mark.parametrize(("ending", "content"), [("nbi", b""), ("nbi", b"garbage"), ("nbc", b"")])
def test_a_broken_file_of_the_cache_is_made_anew(ending: str, content: bytes, tmp_path: Path) -> None:
    double(tmp_path, tmp_path / "cache")
    (broken,) = (tmp_path / "cache").glob(f"*/*.{ending}")
    broken.write_bytes(content)
    answer = double(tmp_path, tmp_path / "cache")
    assert answer.split()[0] == "8.0"
    assert "cache_hits=Counter()" in answer
    assert "cache_hits=Counter()" not in double(tmp_path, tmp_path / "cache")


def test_importing_the_solvers_touches_no_file() -> None:
    code = (
        "import pathlib; pathlib.Path.unlink = None; import oragent.solvers, oragent.solvers.constructive; print('ok')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "ok\n", done.stderr
