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
    monkeypatch.setattr(kernels, "njit", lambda signatures, **options: (signatures, options, old.exists()))
    old = folder / "__pycache__" / "old.nbi"
    assert kernels.kernel(["signature"], error_model="numpy") == (
        ["signature"], {"cache": True, "error_model": "numpy"}, False,
    )  # fmt: skip


def test_importing_the_solvers_touches_no_file() -> None:
    code = (
        "import pathlib; pathlib.Path.unlink = None; import oragent.solvers, oragent.solvers.constructive; print('ok')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "ok\n", done.stderr
