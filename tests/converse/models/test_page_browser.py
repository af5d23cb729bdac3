"""The page in a real browser: by keyboard alone, in two windows, at two widths, and by the rules of axe-core."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oragent.modelling.files.model_files import write
from tests.converse.models.web import Client, serve
from tests.extras import need
from tests.modelling.indexed_models import transport

need("starlette")
pages = pytest.importorskip("playwright.sync_api", reason="needs playwright, a package that drives a browser")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("needs a browser, chromium", allow_module_level=True)
pytestmark = pytest.mark.slow
FOLDERS = ("/usr/lib/node_modules", "/usr/local/lib/node_modules", os.environ.get("NODE_PATH", ""))
AXE = next((file for folder in FOLDERS if folder and (file := Path(folder, "axe-core/axe.min.js")).is_file()), None)
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
FINDINGS = """axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => violations
  .filter(({impact}) => ["serious", "critical"].includes(impact)).map(({id, nodes}) => id + ": " + nodes[0].html))"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    write(transport(), tmp_path / "model.json")
    with serve(tmp_path, str(tmp_path / "model.json")) as served:
        yield served


@pytest.fixture
def browser() -> Iterator[Any]:
    with pages.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield opened
        opened.close()


class Window:
    """A window of the browser on the page."""

    def __init__(self, browser: Any, client: Client, width: int = 1280) -> None:
        context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
        self.page = context.new_page()
        self.page.set_default_timeout(120_000)
        self.problems: list[str] = []
        self.page.on("pageerror", lambda problem: self.problems.append(str(problem)))
        self.page.on("console", lambda line: self.problems.append(line.text) if line.type == "error" else None)
        self.page.goto(client.address)
        self.page.wait_for_selector(".cell")
        self.count = self.page.evaluate("state.count")

    def press(self, selector: str, *keys: str, text: str = "") -> None:
        """Focus an element and press keys; wait for the answer to the message that they send."""
        self.page.focus(selector)
        if text:
            self.page.keyboard.type(text)
        for key in keys:
            self.page.keyboard.press(key)

    def wait(self) -> None:
        """Wait until the next message is answered and shown."""
        self.count += 1
        self.page.wait_for_function(f"state.count === {self.count} && !busy")
        self.page.wait_for_timeout(300)

    def focused(self) -> str:
        return str(self.page.evaluate("document.activeElement.dataset.key || document.activeElement.id"))

    def expect_sound(self) -> None:
        """Expect no script error, no overflow and no serious finding of axe-core."""
        assert self.problems == []
        assert self.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        if AXE is not None:
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
            assert self.page.evaluate(FINDINGS) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_a_planner_can_do_everything_by_keyboard(browser: Any, client: Client, width: int) -> None:
    window = Window(browser, client, width)
    window.expect_sound()
    cell = window.page.locator(".cell").nth(2)
    name = cell.get_attribute("data-key")
    assert name == "ship[Lyon, *, wk3]"
    cell.focus()
    window.page.keyboard.press("Enter")
    window.page.wait_for_selector("dialog[open]")
    window.expect_sound()
    window.press("#cell-forbid", "Enter")
    window.wait()
    assert client.ask("/state")["in_force"] == [f"forbid {name}"]
    assert window.focused() == name
    window.press("#slider", "ArrowLeft", "ArrowLeft", "Tab", "Enter")
    window.wait()
    assert "0.9" in window.page.text_content("#trial-text")
    assert "tried" in window.page.text_content("#kpis")
    window.expect_sound()
    window.press("[data-say=keep]", "Enter")
    window.wait()
    assert len(client.ask("/state")["in_force"]) == 2
    assert window.focused() == "h-kpis"
    window.press("#text", "Enter", text="row many: sum ship >= 100000")
    window.wait()
    assert window.page.is_visible("#bad")
    assert window.page.locator(".cell").first.text_content() == "–"
    window.expect_sound()
    window.page.locator(".chip").nth(2).press("Enter")
    window.wait()
    assert not window.page.is_visible("#bad")
    window.press("#scenario", "Enter", text='more "A"')
    window.wait()
    assert client.ask("/state")["scenarios"][-1][0] == 'more "A"'
    with window.page.expect_download() as download:
        window.press("#csv", "Enter")
    assert 'more ""A""' in Path(download.value.path()).read_text()
    window.expect_sound()


def test_a_window_shows_what_another_one_did(browser: Any, client: Client) -> None:
    first, second = Window(browser, client), Window(browser, client)
    second.page.evaluate("clearInterval(polling)")
    first.press("#text", "Enter", text="whatif forbid ship[Lyon, *, wk3]")
    first.wait()
    second.press("#text", "Enter", text="keep")
    second.page.wait_for_function("at('error').textContent")
    second.page.wait_for_function(f"state.count === {first.count}")
    second.count = first.count
    assert client.ask("/state")["in_force"] == []
    second.page.wait_for_function("at('text').value === 'keep'")
    assert second.page.is_visible("#trial")
    second.press("#text", "Enter")
    second.wait()
    first.page.wait_for_function(f"state.count === {first.count + 1}")
    assert first.page.text_content(".chip").startswith("forbid ship[Lyon, *, wk3]")
    assert client.ask("/state")["in_force"] == ["forbid ship[Lyon, *, wk3]"]
    assert first.problems == []
