"""The page in a real browser, headless: every view is drawn, nothing of a program is executed, no view raises an error."""

import os
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from oragent.report.live.offline import write_offline
from oragent.report.live.server import serve
from oragent.search.store import Store
from tests.extras import need
from tests.report.runs import SEED, Made, describe, reply, searched, write

need("starlette")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("needs a browser, chromium", allow_module_level=True)
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--virtual-time-budget=8000", "--dump-dom",
]  # fmt: skip
HOSTILE = "# </script><img src=x onerror=document.title='executed'> \x1b[31m \u202e"
VIEWS = {
    "": "Would more time pay?", "candidates": "Export CSV", "candidate/1.0": "Difference from parent 0.0",
    "lineage": "The way to the best", "archive": "coverage, all islands", "model": "By role", "trust": "Is the result real?",
    "solutions": "--pictures", "compare": "Cost to reach", "steer": "Stop gently", "settings": "config.yaml",
}  # fmt: skip


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("outputs")
    describe(root / "tsp/a")
    rounds = searched(20)
    rounds[1] = [Made(f"{HOSTILE}\n{SEED}", 6.5, (0, 0), call=0, message=HOSTILE)]
    write(root / "tsp/a", rounds)
    with Store(root / "tsp/a/run.db") as store:
        reply(store, 1, prompt=f'[{{"role": "user", "content": "{HOSTILE[:40]}"}}]', text=HOSTILE)
    lines: list[str] = []
    steer = lambda folder, act: "recorded"  # noqa: E731
    threading.Thread(target=serve, args=(root, lines.append, 0, steer), daemon=True).start()
    deadline = time.monotonic() + 60
    while not lines and time.monotonic() < deadline:
        time.sleep(0.05)
    return lines[0].split("open ")[1].split(" ")[0]


def show(address: str, view: str, folder: Path) -> str:
    """The text of the page's DOM after its scripts have run."""
    command = [
        str(CHROMIUM),
        *FLAGS,
        f"--user-data-dir={folder}",
        f"{address}#/run/{quote('tsp/a', safe='')}/{view}?follow=0",
    ]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(folder)}
    )
    return ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_drawn_and_executes_nothing(address: str, view: str, tmp_path: Path) -> None:
    page = show(address, view, tmp_path)
    body = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    assert VIEWS[view] in body
    assert 'class="error" role="alert"' not in body
    assert "<title>executed" not in page
    assert '<img src="x"' not in body


@pytest.mark.parametrize("view", ["", "candidate/1.0"])
def test_the_page_as_a_file_in_a_browser(view: str, tmp_path: Path) -> None:
    describe(tmp_path / "run")
    write(tmp_path / "run", [[Made(SEED, 7.0, (0, 0), (), "seed")], [Made(f"{HOSTILE}\n{SEED}", 6.0)]])
    page = write_offline(tmp_path / "run", tmp_path / "page.html")
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path}/home", f"{page.as_uri()}#/{view}"]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(tmp_path)}
    )
    body = re.sub(r"<script.*?</script>|<style.*?</style>|<noscript.*?</noscript>", "", ended.stdout, flags=re.DOTALL)
    assert VIEWS[view] in body
    assert "<title>executed" not in ended.stdout


def test_the_overview_and_a_hostile_program_in_a_browser(address: str, tmp_path: Path) -> None:
    page = show(address, "candidate/1.0", tmp_path)
    body = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    assert "Difference from parent 0.0" in body
    assert "&lt;/script&gt;" in body
    assert "\x1b" not in body
    assert "\u202e" not in body
    assert "<title>executed" not in page
