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


def test_without_compilation_kernels_are_functions_of_python(tmp_path: Path) -> None:
    interpreted, compiled = (run(SOLVE, tmp_path, NUMBA_DISABLE_JIT=number).split() for number in "10")
    assert float(interpreted[0]) == pytest.approx(float(compiled[0]), rel=1e-9)


def test_kernels_need_no_folder_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    locators = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    cost, _ = run(SOLVE, tmp_path / "file" / "folder", **locators).split()
    assert float(cost) > 0


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"garbage"])
def test_a_broken_file_of_the_cache_is_made_anew(ending: str, content: bytes, tmp_path: Path) -> None:
    source = "from oragent.solvers.kernels import kernel\n@kernel(['f8(f8)'])\ndef double(x):\n    return 2 * x\n"
    (tmp_path / "own.py").write_text(source)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import own; print(own.double(4.0), own.double.stats)"
    run(code, tmp_path / "cache")
    (broken,) = (tmp_path / "cache").glob(f"*/*.{ending}")
    broken.write_bytes(content)
    assert "cache_hits=Counter()" in (answer := run(code, tmp_path / "cache"))
    assert answer.startswith("8.0")
    assert "cache_hits=Counter()" not in run(code, tmp_path / "cache")


def test_importing_the_solvers_touches_no_file() -> None:
    code = (
        "import pathlib; pathlib.Path.unlink = None; import oragent.solvers, oragent.solvers.constructive; print('ok')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "ok\n", done.stderr
