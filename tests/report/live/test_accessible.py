"""The page of a run by the rules of axe-core: no view has a serious or critical finding, light or dark, wide or narrow."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from oragent.report.live.offline import write_offline
from oragent.search.store import Store
from tests.report.runs import SEED, Made, describe, reply, searched, write

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("needs a browser, chromium", allow_module_level=True)
FOLDERS = ("/usr/lib/node_modules", "/usr/local/lib/node_modules", os.environ.get("NODE_PATH", ""))
AXE = next((file for folder in FOLDERS if folder and (file := Path(folder, "axe-core/axe.min.js")).is_file()), None)
if AXE is None:
    pytest.skip("needs axe-core, an npm package", allow_module_level=True)
VIEWS = (
    "overview", "candidates", "candidate/1.0", "candidate/2.0", "lineage", "archive", "model", "trust", "solutions",
    "settings",
)  # fmt: skip
SCRIPT = """
(async () => {
  const found = {};
  for (const view of VIEWS) {
    location.hash = `#/${view}?theme=THEME`;
    document.documentElement.dataset.theme = "THEME";
    await new Promise((resolve) => setTimeout(resolve, 300));
    const { violations, passes } = await axe.run(document, { resultTypes: ["violations"] });
    found[view] = { passes: passes.length, width: innerWidth, findings: violations.filter(({ impact }) => ["serious", "critical"].includes(impact))
      .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ target }) => target.join(" ")).join(", ")}`) };
  }
  const shown = document.createElement("pre");
  shown.id = "axe-findings";
  shown.textContent = JSON.stringify(found);
  document.body.append(shown);
})();
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("outputs") / "run"
    describe(folder)
    rounds = searched(30)
    values = {"by_instance": {"20": [6.0, 7.0, 8.0, 6.0]}, "ci95": [6.1, 7.9], "places_seconds": {"size 20": 0.5}}
    rounds[0] = [replace(rounds[0][0], metrics=values)]
    rounds[1] = [Made(f"# <b>\n{SEED}", 6.5, (0, 0), call=0, message="a long message " * 9)]
    rounds[2] = [replace(rounds[2][0], parents=("0.0",), metrics={"by_instance": {"20": [5.5, 6.0, 7.5, 7.0]}})]
    write(folder, rounds)
    with Store(folder / "run.db") as store:
        reply(store, 1, prompt='[{"role": "user", "content": "hi"}]', text="a reply")
    return write_offline(folder, folder / "page.html").read_text(encoding="utf-8")


def find_faults(page: str, folder: Path, theme: str, width: int, views: Sequence[str] = VIEWS) -> dict[str, list[str]]:
    """Findings by view."""
    (nonce,) = set(re.findall(r'<script nonce="(\w+)"', page))
    own = SCRIPT.replace("VIEWS", json.dumps(views)).replace("THEME", theme)
    scripts = "".join(f'<script nonce="{nonce}">{text}</script>' for text in (AXE.read_text(encoding="utf-8"), own))
    file = folder / "page.html"
    file.write_text(page + scripts, encoding="utf-8")
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--virtual-time-budget=60000", f"--window-size={width},900", f"--user-data-dir={folder / 'profile'}",
        "--dump-dom", file.as_uri(),
    ]  # fmt: skip
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=180, env={**os.environ, "HOME": str(folder)}
    )
    shown = re.search(r'<pre id="axe-findings">(.*?)</pre>', ended.stdout, re.DOTALL)
    assert shown, ended.stderr[-2000:]
    found = json.loads(unescape(shown[1]))
    assert list(found) == list(views)
    assert all(view["passes"] > 5 and view["width"] == width for view in found.values()), found
    return {name: view["findings"] for name, view in found.items() if view["findings"]}


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 500])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_view_has_a_serious_finding(page: str, theme: str, width: int, tmp_path: Path) -> None:
    assert find_faults(page, tmp_path, theme, width) == {}


@pytest.mark.slow
def test_a_button_without_a_name_is_a_finding(page: str, tmp_path: Path) -> None:
    found = find_faults(f"{page}<button></button>", tmp_path, "light", 1280, VIEWS[:1])
    assert [finding.partition(":")[0] for finding in found["overview"]] == ["button-name"]
