"""What .ci/passes.py reads from records of tests, and when it complains."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("ci_passes", Path(__file__).parents[1] / ".ci" / "passes.py")
assert SPEC
assert SPEC.loader
passes = importlib.util.module_from_spec(SPEC)
sys.modules["ci_passes"] = passes  # its dataclasses look themselves up there
SPEC.loader.exec_module(passes)

RECORD = """<testsuites><testsuite>
<testcase classname="tests.a.test_b.C" name="test_x[1.5]"/>
<testcase classname="tests.a.test_b" name="test_y"><skipped message="no torch">file:1: no torch</skipped></testcase>
<testcase classname="" name="tests.a"><skipped message="collection skipped">no torch</skipped></testcase>
<testcase classname="tests.a.test_b" name="test_z"><failure message="f">f</failure></testcase>
</testsuite></testsuites>"""


def test_a_record_names_tests_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "tests" / "a").mkdir(parents=True)
    (tmp_path / "tests" / "a" / "test_b.py").touch()
    (tmp_path / "record.xml").write_text(RECORD)
    assert list(passes.read_record(tmp_path / "record.xml", tmp_path)) == [
        ("tests/a/test_b.py::C::test_x[1.5]", False, ""),
        ("tests/a/test_b.py::test_y", False, "no torch file:1: no torch"),
        ("tests/a", False, "collection skipped no torch"),
        ("tests/a/test_b.py::test_z", True, ""),
    ]


def test_what_is_skipped_in_every_pass_is_a_fault_but_for_the_exceptions() -> None:
    name = "tests/a/test_b.py::test_y"
    first = passes.Pass(
        "test", skipped={name: "no torch", "tests/c": "no torch", "tests/gpu/test_gpu.py::test_a": "none"}
    )
    assert passes.unexcused([first]) == [f"{name}: no torch", "tests/c: no torch"]
    second = passes.Pass("extras", ran={name, "tests/c/test_d.py::test_e"})
    assert passes.unexcused([first, second]) == []


def test_an_exception_holds_where_an_earlier_pass_lacked_the_extra() -> None:
    name = "tests/report/live/test_browser.py"
    first = passes.Pass("test", skipped={name: "starlette is of the extra 'web'"})
    assert passes.unexcused([first]) == [f"{name}: starlette is of the extra 'web'"]
    assert passes.unexcused([first, passes.Pass("extras", skipped={name: "needs a browser, chromium"})]) == []


def test_browser_and_compiler_are_installed_once_and_only_where_they_are_missing(monkeypatch, tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **options: object) -> None:
        asked.append(command)
        if "npm" in command[0]:
            assert command[-2:] == ["typescript@5", "axe-core@4"]
            (tmp_path / "node/node_modules/.bin").mkdir(parents=True)

    monkeypatch.setattr(passes.subprocess, "run", run)
    monkeypatch.setattr(passes.os, "geteuid", lambda: 0)
    monkeypatch.setattr(passes, "NODE_MODULES", (str(tmp_path / "global"),))
    here = {"apt-get", "npm"}
    monkeypatch.setattr(passes.shutil, "which", lambda name: f"/bin/{name}" if name in here else None)
    added = passes.install_tools(tmp_path)
    assert [command[0] for command in asked] == ["apt-get", "apt-get", "npm"]
    assert added["PATH"].startswith(f"{tmp_path / 'node/node_modules/.bin'}:")
    assert added["NODE_PATH"] == str(tmp_path / "node/node_modules")
    here |= {"chromium", "tsc"}
    (tmp_path / "global" / "axe-core").mkdir(parents=True)
    assert passes.install_tools(tmp_path / "next") == {}
    assert len(asked) == 3


@pytest.mark.parametrize(("alone", "count"), [(True, 1), (False, 1), (True, 4)])
def test_few_failures_are_tried_again_alone_and_named(alone: bool, count: int, monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "oragent" / "tests" / "a").mkdir(parents=True)
    (tmp_path / "oragent" / "tests" / "a" / "test_b.py").touch()
    failures = "".join(
        f'<testcase classname="tests.a.test_b" name="test_{number}"><failure>f</failure></testcase>'
        for number in range(count)
    )

    def make(outcome, *words: str, **variables: str) -> bool:
        (tmp_path / "test.xml").write_text(f"<testsuites>{failures}</testsuites>")
        outcome.faults.append("make test: exit code 2")
        return False

    def run(command: list[str], **options: object) -> object:
        return subprocess.CompletedProcess(command, 0 if alone else 1)

    clone = passes.Clone.__new__(passes.Clone)
    clone.folder, clone.deadline = tmp_path / "oragent", 0.0
    monkeypatch.setattr(clone, "make", make)
    monkeypatch.setattr(passes.subprocess, "run", run)
    outcome = passes.Pass("test", ran={"tests/c.py::test_d"})
    clone.test(outcome, [])
    names = [f"tests/a/test_b.py::test_{number}" for number in range(count)]
    if alone and count == 1:
        assert (outcome.faults, outcome.second_try) == ([], names)
    else:
        assert outcome.faults == ["make test: exit code 2", *(f"{name}: failed" for name in names)]
        assert outcome.second_try == []


@pytest.mark.parametrize("fault", [True, False])
def test_the_table_says_whether_a_pass_failed(fault: bool, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = passes.Pass("lint", 3.0, ["make lint: exit code 2"] if fault else [])
    assert passes.print_table([outcome]) is not fault
    assert ("FAILED" in capsys.readouterr().out) is fault


def test_slow_files_run_until_the_time_is_over_and_the_others_are_named(monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name in "abc":
        (tmp_path / "tests" / f"test_{name}.py").write_text("@pytest.mark.slow\n")
    (tmp_path / "tests" / "test_d.py").write_text("")
    clone = passes.Clone.__new__(passes.Clone)
    clone.folder = tmp_path
    now = 0.0

    def run(part, files: list[str], **variables: str) -> None:
        nonlocal now
        now += 10.0
        part.ran.add(files[0])

    monkeypatch.setattr(clone, "test", run)
    monkeypatch.setattr(passes.time, "monotonic", lambda: now)
    outcome = passes.Pass("slow")
    passes.run_slow(outcome, clone, until=15.0)
    assert len(outcome.ran) == 2
    assert outcome.ran | set(outcome.left_out) == {f"tests/test_{name}.py" for name in "abc"}
    assert not outcome.faults


def test_examples_are_fresh_in_the_pass_of_that_name(monkeypatch, tmp_path: Path) -> None:
    clone = passes.Clone.__new__(passes.Clone)
    asked = []
    monkeypatch.setattr(clone, "test", lambda outcome, files, **variables: asked.append((files, variables)))
    passes.run_fresh(passes.Pass("fresh"), clone)
    assert asked == [(["-m 'hypothesis and not slow'"], {"CI": "", "ORAGENT_EXAMPLES": "100"})]


def test_a_slow_file_that_is_cut_off_is_left_out_and_no_fault(monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("@pytest.mark.slow\n")
    clone = passes.Clone.__new__(passes.Clone)
    clone.folder = tmp_path
    monkeypatch.setattr(clone, "test", lambda part, files: part.faults.append(f"test: {passes.CUT_OFF}"))
    outcome = passes.Pass("slow")
    passes.run_slow(outcome, clone, until=passes.time.monotonic() + 60)
    assert (outcome.faults, outcome.left_out) == ([], ["tests/test_a.py"])


@pytest.mark.parametrize(
    ("text", "only_slow"),
    [
        ("pytestmark = pytest.mark.slow\ndef test_a(): pass\n", True),
        ("@pytest.mark.slow\ndef test_a(): pass\n", True),
        ("@pytest.mark.slow\ndef test_a(): pass\ndef test_b(): pass\n", False),
        ("def help_tests(): pass\n", False),
    ],
)
def test_files_of_slow_tests_alone_are_known(text: str, only_slow: bool, tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(text)
    assert passes.is_only_slow(path) is only_slow
