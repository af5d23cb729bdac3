"""The page in a real browser, headless: every view is drawn, nothing of a program is executed, no view raises an error."""

import base64
import os
import re
import shutil
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml

from oragent.harness.drawing import draw_packing
from oragent.report.held_out import hash_text
from oragent.report.live.offline import write_offline
from oragent.report.live.server import serve
from oragent.report.solution_pictures import FOLDER
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
    "candidate/2.0": "Better than parent 0.0 on 3 of 4 instances, worse on 1",
    "lineage": "The way to the best", "archive": "coverage, all islands", "model": "By role", "trust": "Is the result real?",
    "solutions": "--pictures", "compare": "Cost to reach", "steer": "Stop gently", "settings": "config.yaml",
}  # fmt: skip


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("outputs")
    describe(root / "tsp/a")
    rounds = searched(20)
    rounds[1] = [
        Made(f"{HOSTILE}\n{SEED}", 6.5, (0, 0), call=0, message=HOSTILE, metrics={"places_seconds": {"size 20": 0.5}})
    ]
    values = {"by_instance": {"20": [6.0, 7.0, 8.0, 6.0]}, "ci95": [6.1, 7.9], "places_seconds": {"size 20": 0.5}}
    rounds[0] = [replace(rounds[0][0], metrics=values)]
    better = {"by_instance": {"20": [5.5, 6.0, 7.5, 7.0]}}
    rounds[2] = [replace(rounds[2][0], parents=("0.0",), metrics=better)]
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
    assert "[object Object]" not in body
    assert "undefined" not in body


@pytest.mark.slow
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


# Chooses the second instance a second after the page has opened.
CHOOSE = """setTimeout(() => {
  const select = document.querySelector("main select");
  select.selectedIndex = 1;
  select.dispatchEvent(new Event("change"));
}, 1000)"""


@pytest.mark.slow
@pytest.mark.parametrize(("script", "shown"), [("", (6.0, 4.0)), (CHOOSE, (8.0, 5.0))])
def test_seed_and_best_are_side_by_side_on_the_chosen_instance(
    script: str, shown: tuple[float, float], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    describe(run)
    write(run, [[Made(SEED, 7.0, (0, 0), (), "seed")], [Made(f"# better\n{SEED}", 6.0)]])
    (run / "best.py").write_text(SEED)
    values = {f"size_20_instance_{index}": sides for index, sides in enumerate([(6.0, 4.0), (8.0, 5.0)])}
    named = {
        f"{name}.{side}.svg": value
        for name, pair in values.items()
        for side, value in zip(("seed", "best"), pair, strict=True)
    }
    (run / FOLDER).mkdir()
    for name, value in named.items():
        (run / FOLDER / name).write_text(draw_packing([value], [0], 9.0))
    record = {"program": hash_text(SEED), "about": "", "pictures": list(named), "values": named}
    (run / FOLDER / "pictures.yaml").write_text(yaml.safe_dump(record))
    page = write_offline(run, tmp_path / "page.html")
    text = page.read_text()
    nonce = re.search(r"'nonce-(\w+)'", text)
    assert nonce
    page.write_text(text.replace("</body>", f'<script nonce="{nonce[1]}">{script}</script></body>'))
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path}/home", f"{page.as_uri()}#/solutions"]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(tmp_path)}
    )
    body = re.sub(r"<script.*?</script>|<style.*?</style>|<noscript.*?</noscript>", "", ended.stdout, flags=re.DOTALL)
    images = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)" alt="([^"]+)"', body)
    instance = f"size 20 instance {1 if script else 0}"
    assert [caption for _, caption in images] == [f"{instance}, seed", f"{instance}, best"]
    assert [base64.b64decode(data).decode() for data, _ in images] == [
        draw_packing([value], [0], 9.0) for value in shown
    ]
    assert f"seed: {shown[0]:g}" in body
    assert f"best: {shown[1]:g}" in body
    assert f"Gain of the best over the seed on this instance: {shown[0] - shown[1]:g} lower" in body


def test_the_overview_and_a_hostile_program_in_a_browser(address: str, tmp_path: Path) -> None:
    page = show(address, "candidate/1.0", tmp_path)
    body = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    assert "Difference from parent 0.0" in body
    assert "&lt;/script&gt;" in body
    assert "\x1b" not in body
    assert "\u202e" not in body
    assert "<title>executed" not in page
