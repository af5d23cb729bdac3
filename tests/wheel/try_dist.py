"""Try what ``make dist`` built, as a stranger finds it: python -m tests.wheel.try_dist [--fetch].

The wheel goes into a new environment, whose other packages are those of the environment that runs this script, without
any package of ours; with ``--fetch`` pip brings what the wheel asks for. All commands run in an empty folder.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path
from typing import Any

from oragent.distribution import NAME
from tests.formulate import pharmacy
from tests.llm.chat_server import Answer, ChatServer, ok
from tests.wheel.contents import ROOT, in_sdist, in_wheel, tracked

LP = "maximize\n obj: 3 x + 2 y\nsubject to\n c1: x + y <= 4\n c2: x + 3 y <= 6\nbounds\n x <= 3\nend\n"


def main() -> None:
    """Check the contents, then every command that needs no model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fetch", action="store_true", help="let pip bring what the wheel asks for")
    fetch = parser.parse_args().fetch
    (wheel,) = (ROOT / "dist").glob("*.whl")
    (sdist,) = (ROOT / "dist").glob("*.tar.gz")
    check_contents(wheel, sdist)
    with tempfile.TemporaryDirectory(prefix="oragent-dist-") as folder:
        place = Path(folder)
        program = installed(wheel, place / "environment", fetch=fetch)
        (place / "empty").mkdir()
        try_commands(program, place / "empty")
    print(f"{wheel.name}: complete, and works where no repository is")


def check_contents(wheel: Path, sdist: Path) -> None:
    """Hold the two against what git knows; nothing may be missing, and a wheel has nothing else."""
    known = tracked(ROOT)
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    expect(held == in_wheel(known), f"{wheel.name}: {sorted(held ^ in_wheel(known))[:10]} is missing, or too much")
    with tarfile.open(sdist) as packed:
        held = {name.partition("/")[2] for name in packed.getnames()}
    expect(held >= in_sdist(known), f"{sdist.name}: {sorted(in_sdist(known) - held)[:10]} is missing")


def installed(wheel: Path, home: Path, *, fetch: bool) -> Path:
    """Put a wheel into a new environment, and name the program that it brings."""
    venv.create(home, with_pip=False, symlinks=True)
    told = subprocess.run(
        [home / "bin" / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", *([] if fetch else ["--no-deps"]), str(wheel)], check=True, env=bare)
    if not fetch:  # a line with a path: files of that folder that add paths themselves, as ours would, are not read
        (Path(told) / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin" / "oragent"


def serve(body: dict[str, Any]) -> Answer:
    """A server with a model that knows the pharmacy."""
    return ok(pharmacy.speaks(body["messages"]))


def try_commands(program: Path, place: Path) -> None:
    """Run the commands, each with a word that its output must have."""
    (place / "model.lp").write_text(LP)
    (place / "pharmacy.md").write_text(pharmacy.TEXT)

    def tried(words: str, wanted: str, code: int = 0, **more: str) -> None:
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
        done = subprocess.run(
            [program, *words.split()], cwd=place, capture_output=True, text=True, timeout=300,
            env=kept | more | {"PATH": f"{program.parent}:/usr/bin:/bin", "COLUMNS": "120"},
        )  # fmt: skip
        printed = done.stdout + done.stderr
        expect(done.returncode == code and wanted in printed, f"oragent {words}: {done.returncode}\n{printed}")
        print(f"oragent {words}: as it should be", flush=True)

    tried("problems", "bpp_online")
    tried("settings", "seed: 0")
    tried("run bpp_online --evaluations 5 --workers 2", "5 evaluations")
    (run,) = (place / "outputs" / "bpp_online").iterdir()
    tried(f"show {run}", "best")
    tried(f"report {run} --no-audit", "report:")
    tried(f"eval bpp_online --candidate {run}/best.py", "gap_percent")
    if lacks("safetensors"):
        tried("eval tsp_pomo", f"{NAME}[neural] @ file://", code=1)
    tried("new mine", "made mine")
    tried("check mine --quick", " 0 failures")
    tried("run mine --config quick --evaluations 2 --workers 1 --outputs elsewhere", "2 evaluations")
    tried("compare mine --strategies gp --seeds 2 --evaluations 2 --workers 1", "comparison")
    tried("solve model.lp --explain", "11")
    with ChatServer(then=serve) as server:
        key = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        tried("formulate pharmacy.md --model served", "objective 735", **key)
    tried("problems --copy tsp_constructive", "copied to")
    tried("problems --copy tsp_constructive", "exists already", code=1)
    expect((place / "problems" / "tsp_constructive" / "eval.py").is_file(), "no copy of tsp_constructive")


def lacks(package: str) -> bool:
    """Whether a package is missing here, and so there."""
    return subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True).returncode != 0


def expect(fact: bool, complaint: str) -> None:
    """End with a complaint where something is not as it should be."""
    if not fact:
        raise SystemExit(complaint)


if __name__ == "__main__":
    main()
