"""The faults that the tool makes, the tests that it blames, and what it computes from both."""

import ast
import math
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.mutants import __main__ as command
from tests.tools.mutants.__main__ import (
    EQUIVALENT,
    compute_interval,
    draw_packages,
    list_sites,
    read_equivalent,
    select_tests,
)
from tests.tools.mutants.faults import Fault, list_faults
from tests.tools.mutants.project import Pool, measure
from tests.tools.mutants.server import Measured, changed_codes

ROOT = Path(__file__).parents[2]
PRODUCT = '''"""A module."""

LIMIT = 3


def clip(value, low=0):
    """Return a value in its range."""
    if value > LIMIT:
        return LIMIT
    return max(low, value)


def total(values):
    result = 0
    for value in reversed(values):
        if not value:
            continue
        result += clip(
            value,
            low=-1,
        )
    return result
'''
TESTS = """
import subprocess, sys
import pytest
from product.module import clip, total

@pytest.fixture(scope="module")
def whole():
    return total([1, 9, 0, 2])

def test_limit():
    assert clip(9) == 3

def test_total(whole):
    assert whole == 6

def test_weak():
    assert total([1]) is not None

def test_fails():
    assert total([5]) == 5
"""


def changes(body: str) -> set[str]:
    """Return the faults of a function's body, as they are printed."""
    return {fault.what for fault in list_faults(f"def f(a, b=1):\n    {body}\n".encode())}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = a < b", {"a < b -> a <= b"}),
        ("x = a is None", {"a is None -> a is not None"}),
        ("x = a + b", {"a + b -> a - b"}),
        ("x = a + 'text'", set()),
        ("a -= b", {"a -= b -> a += b"}),
        ("x = a and b and f()", {"a and b and f() -> a or b or f()"}),
        ("x = not a", {"not a -> a"}),
        ("x = -a", {"-a -> a"}),
        ("x = 7", {"7 -> 8"}),
        ("x = 'text'", set()),
        ("x = True", {"True -> False"}),
        ("x = min(a)", {"min(a) -> max(a)"}),
        ("x = sorted(a)", {"sorted(a) -> list(a)"}),
        ("x = abs(a)", {"abs(a) -> a"}),
        ("x = g(a, key=b)", {"g(a, key=b) -> g(a)"}),
        ("x = open(a, encoding=b)", set()),
        ("return a", {"return a -> return None"}),
        ("return None", set()),
        ("x: dict[7, 8] = a", set()),
        ("raise KeyError(7)", set()),
    ],
)
def test_faults_of_a_statement(body: str, expected: set[str]) -> None:
    assert changes(body) == expected


def test_what_runs_at_import_is_left_as_it_is() -> None:
    assert {fault.line for fault in list_faults(PRODUCT.encode())} == {8, 9, 10, 14, 15, 16, 17, 18, 20, 22}


@pytest.mark.parametrize(
    "path", ["oragent/_base/racing.py", "oragent/_base/statistics.py", "tests/tools/mutants/faults.py"]
)
def test_a_fault_changes_one_place_and_no_number_of_a_line(path: str) -> None:
    text = (ROOT / path).read_bytes()
    for fault in list_faults(text):
        changed = fault.apply(text)
        assert changed.count(b"\n") == text.count(b"\n")
        assert changed[: fault.begin] == text[: fault.begin]
        assert changed.endswith(text[fault.end :])
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))


def test_the_code_of_changed_functions_is_found_also_within_others() -> None:
    text = b"def outer():\n    def inner(x):\n        return x < 1\n    return inner\ndef beside():\n    return 2\n"
    fault = next(fault for fault in list_faults(text) if "<=" in fault.what)
    codes = changed_codes(text, fault.apply(text), "m.py")
    assert codes is not None
    assert sorted(code.co_name for code in codes) == ["inner", "outer"]


def test_tests_are_chosen_by_line_and_the_quickest_run_first() -> None:
    measured = Measured(
        {"slow": 30.0, "quick": 0.1, "middle": 20.0, "elsewhere": 0.1},
        {"slow": {"m.py": [3]}, "quick": {"m.py": [2, 3]}, "middle": {"m.py": [3]}, "elsewhere": {"n.py": [3]}},
    )
    fault = Fault(3, 0, 1, "x", "a -> x")
    assert list(select_tests(("m.py", fault), measured)) == ["quick", "middle"]
    assert list(select_tests(("m.py", Fault(2, 0, 1, "x", "a -> x")), measured)) == ["quick"]


@given(count=st.integers(1, 60), data=st.data())
def test_the_interval_is_where_the_score_test_does_not_reject(count: int, data: st.DataObject) -> None:
    killed = data.draw(st.integers(0, count))
    for share in compute_interval(killed, count):
        if 1e-9 < share < 1 - 1e-9:
            z = (killed / count - share) / math.sqrt(share * (1 - share) / count)
            assert abs(z) == pytest.approx(1.96, rel=1e-6)


def test_packages_are_drawn_in_proportion_to_their_size(tmp_path: Path) -> None:
    for name, size in (("small", 100), ("large", 300), ("untested", 10_000)):
        (tmp_path / "oragent" / name).mkdir(parents=True)
        (tmp_path / "oragent" / name / "m.py").write_text("#" * size)
        if name != "untested":
            (tmp_path / "tests" / name).mkdir(parents=True)
    for folder in ("oragent", "tests"):
        (tmp_path / folder / "__pycache__").mkdir()
    generator = random.Random(1)
    first = [draw_packages(tmp_path, generator)[0] for _ in range(2000)]
    assert set(first) == {"oragent/small", "oragent/large"}
    # Five standard deviations around three quarters.
    assert abs(first.count("oragent/large") / 2000 - 0.75) < 5 * math.sqrt(0.75 * 0.25 / 2000)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mutated")
    for name, text in (
        ("product/__init__.py", ""),
        ("product/module.py", PRODUCT),
        ("tests/test_module.py", TESTS),
        ("pytest.ini", "[pytest]\npythonpath = .\n"),
    ):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    (root / "tests" / "tools").symlink_to(ROOT / "tests" / "tools")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def test_each_fault_is_judged_by_tests_that_pass(project: Path, tmp_path: Path) -> None:
    pool = Pool(project, tmp_path, ["tests/test_module.py"], 1)
    try:
        measured, left_out = measure(pool, project, "product")
        assert left_out == []
        assert {test.partition("::")[2] for test in measured.seconds} == {"test_limit", "test_total", "test_weak"}
        # The fixture of the module executes this line, once for all tests.
        assert "product/module.py" in measured.lines["tests/test_module.py::test_total"]
        sites = list_sites(project, ["product"], measured)

        def request(site):
            return *site, select_tests(site, measured)

        verdicts = {
            site[1].what: verdict.is_killed
            for site, verdict in pool.map(sites, "judge", request, time.monotonic() + 100)
        }
        # The record holds until a file changes.
        assert not list(pool.map([], "measure", lambda task: task, math.inf))
        assert measure(pool, project, "product", until=0.0) == (measured, [])
        (pool.copy / "product" / "module.py").write_text(PRODUCT + "\n")
        assert measure(pool, project, "product", until=0.0)[1] == ["tests/test_module.py"]
    finally:
        pool.close()
    survivors = {what for what, is_killed in verdicts.items() if not is_killed}
    # At the limit both branches give it; no order matters to a sum; no value below zero is tried.
    assert survivors == {
        "value > LIMIT -> value >= LIMIT", "reversed(values) -> list(values)", "-1 -> 1", "1 -> 2",
        "clip(value, low=-1) -> clip(value)",
    }  # fmt: skip
    assert "0 -> 1" in verdicts
    assert "continue -> break" in verdicts


def test_a_line_that_is_not_measured_is_not_changed(project: Path) -> None:
    measured = Measured({"t": 0.1}, {"t": {"product/module.py": [8]}})
    assert {site[1].line for site in list_sites(project, ["product"], measured)} == {8}


def test_changes_without_effect_are_few_and_of_lines_that_exist() -> None:
    reasons = read_equivalent()
    size = sum(len(file.read_bytes().splitlines()) for file in (ROOT / "oragent").rglob("*.py"))
    assert len(reasons) <= size / 200
    for (path, source, what), reason in reasons.items():
        text = (ROOT / path).read_bytes()
        lines = [line.strip() for line in text.decode().splitlines()]
        present = {fault.what for fault in list_faults(text) if lines[fault.line - 1] == source}
        assert what in present, f"{EQUIVALENT.name}: {path} has no such change any more: {source} | {what}"
        assert reason


@pytest.mark.parametrize(
    ("killed", "total", "fails"), [(60, 60, False), (38, 60, False), (34, 60, True), (2, 4, False), (0, 0, False)]
)
def test_the_command_fails_below_its_bound_beyond_chance(
    killed: int, total: int, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of 60 faults 7 in 10 are noticed; 34 or fewer are so with a chance below 2.5 %.
    monkeypatch.setattr(command, "run", lambda *_: (killed, total))
    monkeypatch.setattr(sys, "argv", ["mutants", "oragent/report", "--least", "0.7"])
    if fails:
        with pytest.raises(SystemExit):
            command.main()
    else:
        command.main()
