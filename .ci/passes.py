"""Run the README's commands in a clean clone of HEAD, and print what each pass ran and skipped.

The clone lies below a temporary folder whose path has a space and a non-ASCII letter. Passes, cheap ones first:

    run     make run, with a small budget
    lint    make lint
    docs    make docs NOTEBOOKS=off
    smoke   make dist, then the wheel on Python 3.11, 3.12 and 3.13 and the sdist on 3.13, without the repository
    test    make test
    readme  the commands of README.md and the start page, in their order
    pythons make test on the two other Pythons of the three, each with half of the test files; only where it is named
    oldest  make test on Python 3.11 with the oldest packages that pyproject.toml allows; only where it is named
    extras  make lint with all extras, then the tests that 'test' skipped (without 'test': all tests), with Chromium
            (Debian's package, as root), TypeScript and axe-core (npm), installed where missing
    fresh   the Hypothesis tests with new random examples, 100 of each (ORAGENT_EXAMPLES); the other passes draw the
            same 40 each time (CI=1). It does not begin where the time for it is over, and that is said
    slow    the tests marked slow, with all extras where that pass ran, file by file in an order drawn from the commit,
            until the time for them is over; the files that were left out or cut off are named
    mutants make mutants: as many small faults as fit into four minutes, in packages drawn anew each day; survivors are
            printed. It fails where the tests notice clearly less than they should (Makefile), and like 'fresh' it does
            not begin where the time for it is over

At most three tests that fail beside others run again, alone: one
that passes then is listed, and is no fault, as some tests give a program so many seconds and machines may be busy.

Environment variables:

    ORAGENT_CI_MISSING_PYTHON=allow  do not fail where one of the three Pythons is not on this machine
    ORAGENT_CI_MINUTES=40            limit of all passes together
    ORAGENT_CI_FRESH_MINUTES=26      minutes after the start of all passes at which 'fresh' does not begin
    ORAGENT_CI_MUTANTS_MINUTES=28    minutes after the start of all passes at which 'mutants' does not begin
    ORAGENT_CI_SLOW_MINUTES=16       minutes after the start of all passes at which 'slow' begins no further file
    PYTEST_ADDOPTS                   is passed on to pytest, such as 'tests/cluster -x'
    PYTHON                           the Python of the clone's .venv, as the Makefile takes it
"""

import argparse
import ast
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

STARTED = time.monotonic()
ROOT = Path(__file__).resolve().parents[1]
PASSES = ("run", "lint", "docs", "smoke", "test", "readme", "pythons", "oldest", "extras", "fresh", "slow", "mutants")
ONLY_NAMED = {"pythons", "oldest"}
PYTHONS = ("3.11", "3.12", "3.13")
TYPESCRIPT, AXE = "typescript@5", "axe-core@4"
NODE_MODULES = ("/usr/lib/node_modules", "/usr/local/lib/node_modules")
CUT_OFF = "cut off at the limit of all passes"
ALL = "all extras"  # folder of the clone that has them
MAX_RETRIED = 3  # tests that may be tried again
README_TESTS = "tests/test_readme.py"
TESTED = ("figures", "formulate", "models", "test")  # extras of the default tests
ALL_EXTRAS = ("EXTRAS=test,all,ci,gurobi,tracking", "TORCH=torch==2.13.0")
# Tests that may be skipped in every pass: a pattern of "file: reason", and why nothing installs what they need.
EXCEPTED = (
    (r"^tests/gpu", "needs a GPU"),
    (r": .*\bGPU\b", "needs a GPU"),
    (r"^tests/benchmarks/training/test_data.*(elkai|pyvrp)", "no extra installs solvers that label training data"),
    (r"^tests/sandbox/test_commands.*: without namespaces", "its other case runs with namespaces"),
    (r": .*(this machine (has no|lacks)|not held on this machine|no user namespaces|nothing here (keeps|hides))",
     "the kernel of this machine lacks a means of isolation, which 'oragent doctor' names"),
    (r": .*(as an ordinary user|an ordinary user could start)", "needs root, and a Python that every user can start"),
    (r": .*needs the TypeScript compiler, tsc", "needs TypeScript, and there was no npm to install it"),
    (r": .*needs axe-core", "needs axe-core, and there was no npm to install it"),
    (r": .*needs a browser, chromium", "needs Chromium"),
    (r": .*no figures for this SUMO", "figures are of one release of SUMO"),
    (r"^tests/workspace/test_repository.*: this git is too old", "its other case runs with every release"),
    (
        r"^tests/modelling/back_ends/test_contract.*: "
        r".*(linear models only|pure integer|no duals|have bounds|larger licence)",
        "the back end does not offer what the test asks for, and says so",
    ),
)  # fmt: skip
EXCEPTED_WITHOUT_SHARED = (
    (r": .*(is|are) not (here|on this machine)", "needs public data of ../shared, which is not beside this checkout"),
)


@dataclass
class Pass:
    """Outcome of a pass; tests by their names."""

    name: str
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)
    ran: set[str] = field(default_factory=set)
    skipped: dict[str, str] = field(default_factory=dict)
    second_try: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    summary: str = ""


class Clone:
    """A clean clone of HEAD and the environment of its commands."""

    def __init__(self, folder: Path, deadline: float) -> None:
        self.folder, self.deadline = folder, deadline
        folder.parent.mkdir(parents=True)
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(folder)], check=True)
        if shared().is_dir():  # tests of public data look beside the clone
            (folder.parent / "shared").symlink_to(shared(), target_is_directory=True)

    def make(self, outcome: Pass, *words: str, **variables: str) -> bool:
        """Run make; a failure is added to the outcome's faults. A variable replaces what the environment says."""
        command = ["make", "--no-print-directory", *words]
        print(f"\n=== {outcome.name}: {' '.join(words)}", flush=True)
        dropped = (
            "PYTHON",
            "ORAGENT_",
            "OPENAI_",
            "MAKE",
            "MFLAGS",
            "VIRTUAL_ENV",
            "PYTEST_ADDOPTS",
            "EXTRAS",
            "TORCH",
        )
        environment = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        environment |= {"PYTHON": os.environ["PYTHON"]} if "PYTHON" in os.environ else {}
        environment["CI"] = "1"
        process = subprocess.Popen(command, cwd=self.folder, env=environment | variables, start_new_session=True)
        try:
            code = process.wait(max(1.0, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            outcome.faults.append(f"{words[0]}: {CUT_OFF}")
            return False
        if code:
            outcome.faults.append(f"make {words[0]}: exit code {code}")
        return code == 0

    def test(self, outcome: Pass, files: list[str], *words: str, **variables: str) -> None:
        """Run make test, and read what ran and what was skipped."""
        record = self.folder.parent / f"{outcome.name}.xml"
        added = os.environ.get("PYTEST_ADDOPTS", "")
        options = f"--junitxml='{record}' -o junit_family=xunit2 {' '.join(files)} {added}"
        faults = list(outcome.faults)
        self.make(outcome, "test", *words, PYTEST_ADDOPTS=options, **variables)
        if not record.is_file():
            outcome.faults.append("make test: no record of the tests was written")
            return
        failures = []
        for name, failed, reason in read_record(record, self.folder):
            if failed:
                failures.append(name)
            elif reason:
                outcome.skipped[name] = reason
            else:
                outcome.ran.add(name)
        passed = (
            [name for name in failures if self.passes_alone(name, variables)] if len(failures) <= MAX_RETRIED else []
        )
        if failures and passed == failures:
            outcome.faults[:] = faults
        outcome.second_try += passed
        outcome.ran.update(passed)
        outcome.faults += [f"{name}: failed" for name in failures if name not in passed]
        if not outcome.ran:
            outcome.faults.append("make test: no test ran")
        outcome.summary = f"{len(outcome.ran)} tests passed, {len(outcome.skipped)} skipped"

    def passes_alone(self, name: str, variables: dict[str, str]) -> bool:
        """Run one test again, without others beside it, and return whether it passes."""
        print(f"\n=== again, alone: {name}", flush=True)
        command = [str(self.folder / ".venv" / "bin" / "python"), "-m", "pytest", "-m", "", name]
        seconds = max(1.0, self.deadline - time.monotonic())
        with contextlib.suppress(subprocess.TimeoutExpired):
            environment = os.environ | {"CI": "1"} | variables
            return subprocess.run(command, cwd=self.folder, env=environment, timeout=seconds).returncode == 0
        return False


def read_record(record: Path, folder: Path) -> Iterator[tuple[str, bool, str]]:
    """Yield the tests of a JUnit file: name (``tests/a/test_b.py::Class::test``), whether it failed, reason of a skip.

    A file or folder that was skipped as a whole has its path as its name.
    """
    for case in ElementTree.parse(record).getroot().iter("testcase"):
        module, names = split_module(case.get("classname") or case.get("name", ""), folder)
        name = "::".join([module, *names, *([case.get("name", "")] if case.get("classname") else [])])
        skip = case.find("skipped")
        failed = case.find("failure") is not None or case.find("error") is not None
        words = "" if skip is None else f"{skip.get('message', '')} {skip.text or ''}"
        yield name, failed, " ".join(words.split())[:300]


def split_module(dotted: str, folder: Path) -> tuple[str, list[str]]:
    """Split ``tests.a.test_b.Class`` into the path of its file or folder and the names below."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        path = "/".join(parts[:count])
        for candidate in (f"{path}.py", path):
            if (folder / candidate).exists():
                return candidate, parts[count:]
    return dotted, []


def shared() -> Path:
    """Return the folder of public data beside the checkout, which may be missing."""
    return (ROOT.parent / "shared").resolve()


def find_pythons() -> dict[str, str]:
    """Return the interpreters of the three versions: on PATH, or else pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    interpreters = {}
    for version in PYTHONS:
        on_path = [shutil.which(f"python{version}")]
        candidates = [*on_path, *(str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python")))]
        for candidate in candidates:  # a shim of pyenv is on PATH for versions that cannot be started
            check = f"import sys, ensurepip; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
            if candidate and not subprocess.run([candidate, "-c", check], capture_output=True).returncode:
                interpreters[version] = candidate
                break
    return interpreters


def install_tools(folder: Path) -> dict[str, str]:
    """Install what tests of the page need beside Python, where it is missing: Chromium as root, the others by npm.

    Returns:
        Environment variables that find what was installed in the folder.
    """
    if not shutil.which("chromium") and shutil.which("apt-get") and os.geteuid() == 0:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": 240}
        for words in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(["apt-get", *words], env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, **quiet)
    modules = folder / "node" / "node_modules"
    missing = [] if shutil.which("tsc") else [TYPESCRIPT]
    missing += [] if any(Path(place, "axe-core").is_dir() for place in NODE_MODULES) else [AXE]
    if missing and shutil.which("npm"):
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", f"{folder}/node", *missing]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    if not modules.is_dir():
        return {}
    return {"PATH": f"{modules / '.bin'}:{os.environ['PATH']}", "NODE_PATH": str(modules)}


def is_only_slow(path: Path) -> bool:
    """Return whether a file of tests is left to the pass 'slow'."""
    if not path.is_file():
        return False
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    marks = [[ast.unparse(mark) for mark in function.decorator_list] for function in functions]
    if any(isinstance(node, ast.Assign) and "pytestmark = pytest.mark.slow" in ast.unparse(node) for node in tree.body):
        return True
    return bool(marks) and all("pytest.mark.slow" in mark for mark in marks)


def unexcused(passes: list[Pass]) -> list[str]:
    """Return the tests that were skipped in every pass, and may not be."""
    ran = {name for outcome in passes for name in outcome.ran}
    prefixes = {name.partition("::")[0] for name in ran}
    folders = {str(parent) for name in prefixes for parent in Path(name).parents}
    excepted = EXCEPTED if shared().is_dir() else EXCEPTED + EXCEPTED_WITHOUT_SHARED
    never: dict[str, list[str]] = {}
    for outcome in passes:
        for name, reason in outcome.skipped.items():
            if name not in ran | prefixes | folders and not is_only_slow(ROOT / name):
                never.setdefault(name, []).append(f"{name}: {reason}")
    return sorted(  # a test of an extra has another reason in the pass that lacks the extra
        lines[-1]
        for lines in never.values()
        if not any(re.search(pattern, line) for line in lines for pattern, _ in excepted)
    )


def find_pythons_or_fail(outcome: Pass) -> dict[str, str]:
    """Return the interpreters of the three versions; a missing one is a fault of the pass, unless that is allowed."""
    pythons = find_pythons()
    missing = sorted(set(PYTHONS) - set(pythons))
    if missing and os.environ.get("ORAGENT_CI_MISSING_PYTHON") != "allow":
        outcome.faults.append(f"Python {', '.join(missing)}: neither on PATH nor in ~/.pyenv/versions")
    outcome.summary = f"on Python {', '.join(pythons)}" + "".join(f"; no {version}" for version in missing)
    return pythons


def run_pythons(outcome: Pass, first: Clone, folder: Path, before: list[Pass]) -> None:
    """Run the tests on the Pythons that 'test' did not use: every file on one of them."""
    command = [str(first.folder / ".venv/bin/python"), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    tested = subprocess.run(command, capture_output=True, text=True).stdout.strip() if before else ""
    others = {version: path for version, path in find_pythons_or_fail(outcome).items() if version != tested}
    files = sorted(str(path.relative_to(first.folder)) for path in first.folder.glob("tests/**/test_*.py"))
    for number, (version, python) in enumerate(others.items()):
        clone = Clone(folder / f"Python {version}" / "oragent", first.deadline)
        share = files[number :: len(others)] if not os.environ.get("PYTEST_ADDOPTS") else []
        clone.test(outcome, share, f"PYTHON={python}")
    outcome.summary = f"on Python {' and '.join(others)}: {outcome.summary}"


def run_oldest(outcome: Pass, folder: Path, deadline: float) -> None:
    """Run the tests with the oldest packages that are allowed."""
    clone = Clone(folder / "oldest" / "oragent", deadline)
    project = tomllib.loads((clone.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *chain.from_iterable(extras[name] for name in TESTED)]
    bounds = [re.match(r"([\w-]+)>=([\d.]+)", text) for text in requirements]
    lines = [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]
    (clone.folder.parent / "oldest.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    constraint = {"PIP_CONSTRAINT": "../oldest.txt"}  # a relative path: pip splits the variable at spaces
    if python := find_pythons_or_fail(outcome).get("3.11"):
        clone.test(outcome, [], f"PYTHON={python}", **constraint)


def is_late(variable: str, minutes: str) -> bool:
    """Return whether the time is over after which a pass does not begin."""
    return time.monotonic() - STARTED > 60 * float(os.environ.get(variable, minutes))


def run_fresh(outcome: Pass, clone: Clone) -> None:
    """Run the Hypothesis tests with new and more examples."""
    clone.test(outcome, ["-m 'hypothesis and not slow'"], CI="", ORAGENT_EXAMPLES="100")


def run_slow(outcome: Pass, clone: Clone, until: float, variables: tuple[str, ...] = ()) -> None:
    """Run files with slow tests until a time; other commits begin with other files."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone.folder, capture_output=True, text=True).stdout
    files = sorted(
        str(path.relative_to(clone.folder))
        for path in clone.folder.glob("tests/**/test_*.py")
        if "mark.slow" in path.read_text(encoding="utf-8")
    )
    random.Random(head).shuffle(files)
    left_out = []
    for file in files:
        if time.monotonic() > until:
            left_out.append(file)
            continue
        part = Pass("slow")
        clone.test(part, [file, "-m slow"], *variables)
        if any(CUT_OFF in fault for fault in part.faults):
            left_out.append(file)
            continue
        outcome.ran |= part.ran
        outcome.skipped |= part.skipped
        outcome.second_try += part.second_try
        # A file may leave out its slow tests where a package is missing.
        outcome.faults += [fault for fault in part.faults if part.ran or "failed" in fault]
    outcome.summary = f"{len(outcome.ran)} tests passed, {len(outcome.skipped)} skipped"
    outcome.left_out = left_out


def run_pass(outcome: Pass, first: Clone, folder: Path, before: list[Pass]) -> None:
    """Run one pass by its name."""
    if outcome.name == "run":
        first.make(outcome, "run", RUN_OPTIONS="--evaluations 30")
    elif outcome.name == "lint":
        first.make(outcome, "lint")
    elif outcome.name == "docs":
        first.make(outcome, "docs", "NOTEBOOKS=off")
    elif outcome.name == "smoke":
        pythons = find_pythons_or_fail(outcome)
        outcome.summary = f"wheel {outcome.summary}, and sdist"
        first.make(outcome, "dist", SMOKE=" ".join(pythons.values()))
    elif outcome.name == "test":
        first.test(outcome, [])
    elif outcome.name == "pythons":
        run_pythons(outcome, first, folder, before)
    elif outcome.name == "oldest":
        run_oldest(outcome, folder, first.deadline)
    elif outcome.name == "readme":
        first.test(outcome, [README_TESTS, "-m slow"])
    elif outcome.name == "extras":
        second = Clone(folder / ALL / "oragent", first.deadline)
        second.make(outcome, "lint", *ALL_EXTRAS)
        skipped = [name for earlier in before for name in earlier.skipped]
        functions = sorted({name.partition("[")[0] for name in skipped})
        second.test(outcome, functions, *ALL_EXTRAS, **install_tools(folder))
    elif outcome.name == "fresh":
        if is_late("ORAGENT_CI_FRESH_MINUTES", "26"):
            outcome.left_out = ["fresh"]
        else:
            run_fresh(outcome, first)
    elif outcome.name == "mutants":
        if is_late("ORAGENT_CI_MUTANTS_MINUTES", "28"):
            outcome.left_out = ["mutants"]
        else:
            first.make(outcome, "mutants")
    elif outcome.name == "slow":
        minutes = float(os.environ.get("ORAGENT_CI_SLOW_MINUTES", "16"))
        until = min(STARTED + 60 * minutes, first.deadline)
        if any(earlier.name == "extras" for earlier in before):
            first.folder = folder / ALL / "oragent"
            run_slow(outcome, first, until, ALL_EXTRAS)
        else:
            run_slow(outcome, first, until)


def print_table(passes: list[Pass]) -> bool:
    """Print each pass, and return whether all is well."""
    print(f"\n{'pass':8} {'seconds':>7}  result")
    for outcome in passes:
        result = "FAILED" if outcome.faults else "passed"
        print(f"{outcome.name:8} {outcome.seconds:7.0f}  {result}{'  ' if outcome.summary else ''}{outcome.summary}")
    for outcome in passes:
        for name in outcome.second_try:
            print(f"{outcome.name}: {name}: failed beside others, passed alone")
        if outcome.left_out:
            print(f"{outcome.name}: no time for {len(outcome.left_out)}: {' '.join(outcome.left_out)}")
        for fault in outcome.faults:
            print(f"{outcome.name}: {fault}")
    complete = {"test", "extras"} <= {outcome.name for outcome in passes} and not os.environ.get("PYTEST_ADDOPTS")
    never = unexcused(passes) if complete else []
    for line in never:
        print(f"skipped in every pass: {line}")
    return not never and not any(outcome.faults for outcome in passes)


def main() -> None:
    """Run the passes that are named, or the usual ones; exit code 1 where one fails or all skip a test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "passes",
        nargs="*",
        metavar="PASS",
        help=f"{', '.join(PASSES)} (default: all but {', '.join(sorted(ONLY_NAMED))})",
    )
    named = parser.parse_args().passes or [name for name in PASSES if name not in ONLY_NAMED]
    if unknown := sorted(set(named) - set(PASSES)):
        parser.error(f"no pass {', '.join(unknown)}; there are {', '.join(PASSES)}")
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True).stdout:
        print("uncommitted changes of this checkout are not tested: the clone has HEAD", flush=True)
    deadline = time.monotonic() + 60 * float(os.environ.get("ORAGENT_CI_MINUTES", "40"))
    with tempfile.TemporaryDirectory(prefix="oragent ci é ", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        first = Clone(folder / "default extras" / "oragent", deadline)
        outcomes: list[Pass] = []
        for outcome in (Pass(name) for name in PASSES if name in named):
            begun = time.monotonic()
            run_pass(outcome, first, folder, outcomes)
            outcome.seconds = time.monotonic() - begun
            outcomes.append(outcome)
        passed = print_table(outcomes)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
