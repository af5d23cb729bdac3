"""Measure which small faults the tests notice: ``python -m tests.tools.mutants oragent/report --count 20``.

Faults are drawn at random among lines that tests execute, and made one at a time in a copy of the project. A fault is
noticed if a test that executes its line fails or no longer ends. Survivors are printed: each is a value that no test
holds, code that does nothing, or a change without effect, which goes into ``equivalent.txt`` with its reason.

Kept libraries were tried first (November 2026). mutmut 3 selects tests by function, but has no random sample, runs the
whole suite in one process and needs it to pass on rewritten sources; cosmic-ray runs all tests for each fault.
"""

import argparse
import math
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from tests.tools.mutants.faults import Fault, list_faults
from tests.tools.mutants.project import ROOT, Pool, measure
from tests.tools.mutants.server import Measured, Verdict

EQUIVALENT = Path(__file__).with_name("equivalent.txt")
# Seconds of tests that one fault may take; the quickest tests that execute the line run first.
MAX_TEST_SECONDS = 40.0
# Share of the time in which tests are measured. A package whose tests take longer is left out: a fault would survive
# that a test notices which was not measured.
MEASURING = 0.5
# Two-sided 95 % interval.
NORMAL_QUANTILE = 1.96
Site = tuple[str, Fault]


def read_equivalent(path: Path = EQUIVALENT) -> dict[tuple[str, str, str], str]:
    """Return the reasons of faults without effect, by file, line of the source without its indent, and change."""
    reasons = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            file, source, change, reason = line.split(" | ")
            reasons[file, source, change] = reason
    return reasons


def list_sites(root: Path, paths: Sequence[str], measured: Measured) -> list[Site]:
    """List the faults of these files and folders, in lines that measured tests execute."""
    executed: dict[str, set[int]] = {}
    for lines in measured.lines.values():
        for path, numbers in lines.items():
            executed.setdefault(path, set()).update(numbers)
    equivalent = read_equivalent()
    sites = []
    for path in paths:
        for file in sorted((root / path).rglob("*.py")) if (root / path).is_dir() else [root / path]:
            name = str(file.relative_to(root))
            text = file.read_bytes()
            source = text.decode().splitlines()
            sites += [
                (name, fault)
                for fault in (list_faults(text) if name in executed else ())
                if fault.line in executed[name] and (name, source[fault.line - 1].strip(), fault.what) not in equivalent
            ]
    return sites


def select_tests(site: Site, measured: Measured) -> dict[str, float]:
    """Return the tests that execute a line with their seconds, the quickest first."""
    path, fault = site
    executing = [test for test, lines in measured.lines.items() if fault.line in lines.get(path, ())]
    chosen: dict[str, float] = {}
    total = 0.0
    for test in sorted(executing, key=lambda test: (measured.seconds[test], test)):
        total += measured.seconds[test]
        if chosen and total > MAX_TEST_SECONDS:
            break
        chosen[test] = measured.seconds[test]
    return chosen


def compute_interval(killed: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927, score interval), for a sample of at least one."""
    share, square = killed / count, NORMAL_QUANTILE**2
    centre = (share + square / (2 * count)) / (1 + square / count)
    half = NORMAL_QUANTILE * math.sqrt(share * (1 - share) / count + square / (4 * count**2)) / (1 + square / count)
    return max(0.0, centre - half), min(1.0, centre + half)


def choose_tests(root: Path, paths: Sequence[str]) -> list[str]:
    """Return the folders of tests of these paths; what no folder mirrors is tested by the files of ``tests`` itself."""
    tests: list[str] = []
    for path in paths:
        package = Path(path).parts[1] if len(Path(path).parts) > 1 else ""
        if (root / "tests" / package).is_dir() and package:
            tests.append(f"tests/{package}")
        else:
            tests += sorted(str(file.relative_to(root)) for file in (root / "tests").glob("test_*.py"))
    return sorted(set(tests))


def draw_packages(root: Path, generator: random.Random) -> list[str]:
    """Return the packages that have tests of their own, in a random order in which large ones tend to come first.

    Folders without source, such as ``__pycache__``, are no packages.
    """
    sizes = {
        f"oragent/{folder.name}": sum(file.stat().st_size for file in folder.rglob("*.py"))
        for folder in sorted((root / "oragent").iterdir())
        if (root / "tests" / folder.name).is_dir()
    }
    # Exponential clocks whose rates are the sizes: who rings first is drawn in proportion to its size.
    return sorted(filter(sizes.get, sizes), key=lambda name: generator.expovariate(sizes[name]))


def run(
    paths: Sequence[str],
    tests: Sequence[str],
    count: int,
    generator: random.Random,
    jobs: int,
    until: float,
    show_all: bool,
) -> tuple[int, int]:
    """Make faults in these paths until a time, print the survivors; return how many were noticed, of how many."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants", ignore_cleanup_errors=True) as folder:
        # Sandboxes of root run as another user, who reads the product.
        Path(folder).chmod(0o755)
        pool = Pool(ROOT, Path(folder), list(tests), jobs)
        try:
            measured, left_out = measure(pool, ROOT, "oragent", begun + MEASURING * (until - begun))
            if left_out:
                print(f"{' '.join(paths)}: left out, no time to measure {len(left_out)} files of tests", flush=True)
                return 0, 0
            sites = list_sites(pool.copy, paths, measured)
            taken = time.monotonic() - begun
            print(f"{' '.join(paths)}: {len(measured.seconds)} tests pass, of {len(pool.tests)}", end="")
            print(f"; they execute {len(sites)} places for faults ({taken:.0f} s)", flush=True)
            if show_all:
                print("\n".join(f"left out: {test}" for test in pool.tests if test not in measured.seconds))
            chosen = generator.sample(sites, min(count, len(sites)))

            def request(site: Site) -> tuple[str, Fault, dict[str, float]]:
                return *site, select_tests(site, measured)

            killed = total = 0
            for site, verdict in pool.map(chosen, "judge", request, until):
                killed += verdict.is_killed
                total += 1
                if show_all or not verdict.is_killed:
                    print_verdict(site, verdict, len(select_tests(site, measured)))
        finally:
            pool.close()
    return killed, total


def print_verdict(site: Site, verdict: Verdict, count: int) -> None:
    """Print a fault in a line."""
    (path, fault), word = site, "killed" if verdict.is_killed else "SURVIVED"
    by = f"by {verdict.test}{' (too slow)' if verdict.is_timeout else ''}" if verdict.is_killed else f"{count} tests"
    print(f"{word} {path}:{fault.line}  {fault.what}  {by}", flush=True)


def main() -> None:
    """Run the command line; the exit code is 1 where the share is below --least beyond chance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="files and folders of the product (default: packages are drawn)")
    parser.add_argument("--count", type=int, default=0, help="faults to make (default: 20; all that fit in --seconds)")
    parser.add_argument("--seed", type=int, default=date.today().toordinal(), help="default: new each day")
    parser.add_argument("--tests", nargs="+", help="files and folders (default: the folder named like the package)")
    parser.add_argument("--seconds", type=float, default=0.0, help="limit of everything")
    parser.add_argument("--jobs", type=int, default=2, help="default: 2")
    parser.add_argument("--least", type=float, default=0.0, help="share that must not lie above the 95 %% interval")
    parser.add_argument("--all", action="store_true", help="print what is noticed as well, and the test that does so")
    options = parser.parse_args()
    until = time.monotonic() + (options.seconds or math.inf)
    count = options.count or (sys.maxsize if options.seconds else 20)
    print(f"seed {options.seed}", flush=True)
    generator = random.Random(options.seed)
    groups = [options.paths] if options.paths else [[package] for package in draw_packages(ROOT, generator)]
    killed = total = 0
    for paths in groups:
        if total >= count or time.monotonic() >= until:
            break
        tests = options.tests or choose_tests(ROOT, paths)
        part = run(paths, tests, count - total, generator, options.jobs, until, options.all)
        killed, total = killed + part[0], total + part[1]
    if not total:
        print("no fault was made: no test that passes executes these lines")
        return
    low, high = compute_interval(killed, total)
    print(
        f"{killed} of {total} noticed ({killed / total:.0%}; 95 % interval {low:.0%} to {high:.0%}), seed {options.seed}"
    )
    if high < options.least:
        sys.exit(f"below {options.least:.0%}, beyond chance")


if __name__ == "__main__":
    main()
