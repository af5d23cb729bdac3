"""Try what ``make dist`` built, without the repository: python -m tests.wheel.try_dist [--python PYTHON]...

With ``--python`` the wheel is installed by pip, with the packages that it asks for, into a new environment of each of these
interpreters; the sdist, of which the wheel was built, is tried on the last of them. Without it the wheel alone is tried, in a new environment of the interpreter that runs this script,
whose other packages are those of this environment. All commands run in an empty folder.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.distribution import NAME
from tests.formulate import pharmacy
from tests.llm.chat_server import Answer, ChatServer, ok
from tests.wheel.contents import ROOT, in_sdist, in_wheel, tracked
from tests.workspace.bakery import DATA, PROGRAM

EXTRAS = "figures,formulate,workspace"
LP = "maximize\n obj: 3 x + 2 y\nsubject to\n c1: x + y <= 4\n c2: x + 3 y <= 6\nbounds\n x <= 3\nend\n"


def main() -> None:
    """Check the contents, then every command that needs no model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[], help="an interpreter; pip installs what it needs")
    pythons = parser.parse_args().python
    (wheel,) = (ROOT / "dist").glob("*.whl")
    (sdist,) = (ROOT / "dist").glob("*.tar.gz")
    check_contents(wheel, sdist)
    if not pythons:
        with tempfile.TemporaryDirectory(prefix="oragent-dist-") as folder:
            home = make_environment(Path(sys.executable), Path(folder) / "environment")
            install(wheel, home, "--no-deps")
            lend_packages(home)
            install(find_benchmarks(), home, "--no-deps")
            program, place = home / "bin" / "oragent", Path(folder) / "empty"
            try_core(program, place, "this Python")
            try_products(program, place, "this Python")
            print(f"{wheel.name}: complete, and works where no repository is")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        archives = {python: [wheel] for python in pythons[:-1]} | {python: [wheel, sdist] for python in pythons[-1:]}
        works = list(pool.map(lambda python: try_interpreter(Path(python), archives[python]), pythons))
    failed = [python for python, fine in zip(pythons, works, strict=True) if not fine]
    expect(not failed, f"wheel or sdist fail on {', '.join(failed)}")


def try_interpreter(python: Path, archives: list[Path]) -> bool:
    """Try one archive after the other in the same environment; print what fails."""
    version = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="oragent-dist-") as folder:
        home = make_environment(python, Path(folder) / "environment")
        program = home / "bin" / "oragent"
        for archive in archives:
            place = Path(folder) / archive.suffix[1:]
            try:
                if archive is archives[0]:
                    install(archive, home)
                else:
                    install(archive, home, "--force-reinstall", "--no-deps")
                try_core(program, place, version)
                install(f"{archive}[{EXTRAS}]", home)
                install(find_benchmarks(), home, "--no-deps")
                try_products(program, place, version)
            except (SystemExit, subprocess.SubprocessError) as problem:
                print(f"{archive.name} fails on {version}: {problem}", flush=True)
                return False
            print(f"{archive.name} works on {version}", flush=True)
    return True


def check_contents(wheel: Path, sdist: Path) -> None:
    """Hold the two against what git knows; nothing may be missing, and a wheel has nothing else."""
    known = tracked(ROOT)
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    expect(held == in_wheel(known), f"{wheel.name}: {sorted(held ^ in_wheel(known))[:10]} is missing, or too much")
    with tarfile.open(sdist) as packed:
        held = {name.partition("/")[2] for name in packed.getnames()}
    expect(held >= in_sdist(known), f"{sdist.name}: {sorted(in_sdist(known) - held)[:10]} is missing")


def make_environment(python: Path, home: Path) -> Path:
    """Make an environment of this interpreter without any package."""
    subprocess.run([python, "-m", "venv", "--without-pip", home], check=True, env=clean_environment())
    return home


def install(archive: Path | str, home: Path, *options: str) -> None:
    """Install a wheel or an sdist into an environment."""
    pip = [sys.executable, "-m", "pip", "--python", home / "bin" / "python", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", *options, archive], check=True, env=clean_environment())


def find_benchmarks() -> Path:
    """Return the wheel of the benchmarks, which is a distribution of its own."""
    (wheel,) = (ROOT / "build" / "benchmarks").glob("*.whl")
    return wheel


def lend_packages(home: Path) -> None:
    """Let an environment import the packages of the one that runs this script, but none of ours."""
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run([home / "bin" / "python", "-c", script], capture_output=True, text=True, check=True)
    # A line with a path: files of that folder that add paths themselves, as ours would, are not read.
    (Path(packages.stdout.strip()) / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")


def clean_environment() -> dict[str, str]:
    """Return this process's environment without the variables of Python and make."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MAKE", "VIRTUAL_ENV"))}


def serve(body: dict[str, Any]) -> Answer:
    """A server with a model that knows the pharmacy."""
    return ok(pharmacy.speaks(body["messages"]))


@dataclass(frozen=True)
class Trial:
    """Commands of an installed copy, run in a folder that holds no repository."""

    program: Path
    place: Path
    version: str

    def __call__(self, words: str, wanted: str, code: int = 0, typed: str = "", **more: str) -> None:
        """Run a command, whose output must have a word; print the version with it."""
        program, place, version = self.program, self.place, self.version
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
        done = subprocess.run(
            [program, *words.split()], cwd=place, capture_output=True, text=True, timeout=300, input=typed,
            env=kept | more | {"PATH": f"{program.parent}:/usr/bin:/bin", "COLUMNS": "120"},
        )  # fmt: skip
        printed = done.stdout + done.stderr
        expect(done.returncode == code and wanted in printed, f"oragent {words}: {done.returncode}\n{printed}")
        print(f"{version}: oragent {words}: as it should be", flush=True)


def try_core(program: Path, place: Path, version: str) -> None:
    """Run the commands that need no extra."""
    place.mkdir()
    (place / "model.lp").write_text(LP)
    (place / "pharmacy.md").write_text(pharmacy.TEXT)
    tried = Trial(program, place, version)
    tried("problems", "bpp_online")
    tried("settings", "seed: 0")
    tried("run bpp_online --evaluations 5 --workers 2", "5 evaluations")
    (run,) = (place / "outputs" / "bpp_online").iterdir()
    tried(f"show {run}", "best")
    tried(f"report {run} --no-check", "report:")
    tried(f"eval bpp_online --candidate {run}/best.py", "gap_percent")
    if lacks(program.parent / "python", "safetensors"):
        tried("eval tsp_pomo", f"{NAME}[neural] @ file://", code=1)
    tried("new mine", "made problems/mine")
    tried("check mine --quick", " 0 failures")
    tried("run mine --config quick --evaluations 2 --workers 1 --outputs elsewhere", "2 evaluations")
    tried("solve model.lp --explain", "11")
    tried("converse workshop", "686", typed="whatif carpentry = 50\nquit\n")
    if lacks(program.parent / "python", "oragent_benchmarks"):
        tried("bench formulate --set families --model oracle", "pip install ./benchmarks", code=1)
    if lacks(program.parent / "python", "matplotlib"):
        tried("compare mine --strategies gp --seeds 2 --evaluations 2", f"{NAME}[figures] @ file://", code=1)
    if lacks(program.parent / "python", "pulp"):
        tried("workspace new shop", "shop")
        (place / "shop" / "src").mkdir(exist_ok=True)
        (place / "shop" / "src" / "shop.py").write_text(PROGRAM)
        # No model was solved.
        tried("workspace run shop", f"{NAME}[workspace] @ file://", code=3)
    tried("problems --copy tsp_constructive", "copied to")
    tried("problems --copy tsp_constructive", "already exists", code=1)
    expect((place / "problems" / "tsp_constructive" / "eval.py").is_file(), "no copy of tsp_constructive")


def try_products(program: Path, place: Path, version: str) -> None:
    """Run the commands that need the extras."""
    tried = Trial(program, place, version)
    tried("compare mine --strategies gp --seeds 2 --evaluations 2 --workers 1", "comparison")
    tried("bench formulate --set families --model oracle --workers 2", "SR 100.0 % of 32")
    tried("bench district", "oragent converse schools.json")
    tried("converse schools.json", "2,453 students", typed="load <= 2500\nquit\n")
    tried("workspace new bakery", "bakery")
    (place / "bakery" / "data" / "general_parameters.csv").write_text(DATA)
    (place / "bakery" / "src").mkdir(exist_ok=True)
    (place / "bakery" / "src" / "bakery.py").write_text(PROGRAM)
    tried("workspace run bakery", "400")
    with ChatServer(then=serve) as server:
        key = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        tried("formulate pharmacy.md --model served", "objective 735", **key)


def lacks(python: Path, package: str) -> bool:
    """Return whether an interpreter cannot import a package."""
    return subprocess.run([python, "-c", f"import {package}"], capture_output=True).returncode != 0


def expect(fact: bool, complaint: str) -> None:
    """End with a complaint where something is not as it should be."""
    if not fact:
        raise SystemExit(complaint)


if __name__ == "__main__":
    main()
