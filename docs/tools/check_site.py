"""Look at every link of a built site: python docs/tools/check_site.py docs/_build/html.

Whatever a page loads lies in the site, so that no request leaves it; every link within leads somewhere, to the heading that it
names; search finds a word of every page. Links to elsewhere are for readers, and are not followed.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
    ("video", "src"),
    ("audio", "src"),
}
RELATIONS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "manifest", "modulepreload"}
IN_STYLE = re.compile(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""")


class Page(HTMLParser):
    """What a page loads, links to, and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a tag's addresses."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.loads += [value for name, value in given.items() if (tag, name) in LOADS]
        self.loads += [part.split()[0] for part in given.get("srcset", "").split(",") if part.strip()]
        self.loads += IN_STYLE.findall(given.get("style", "")) and [
            one[0] or one[1] for one in IN_STYLE.findall(given["style"])
        ]
        if tag == "link" and RELATIONS & set(given.get("rel", "").split()):
            self.loads.append(given.get("href", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


def main(site: Path) -> None:
    """Print what is wrong; exit code 1 if anything is."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    wrong = [f"{path.relative_to(site)}: {told}" for path, page in pages.items() for told in faults(path, page, pages)]
    for style in sorted(site.rglob("*.css")):
        for found in IN_STYLE.finditer(style.read_text(encoding="utf-8")):
            address = found[1] or found[2]
            if outside(address):
                wrong.append(f"{style.relative_to(site)}: loads {address}")
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    wrong += [f"search does not know {path.relative_to(site)}" for path in pages
              if path.stem not in ("search", "genindex", "py-modindex") and f'"{path.relative_to(site).with_suffix("")}"' not in index]  # fmt: skip
    print("\n".join(wrong) or f"{len(pages)} pages: every link leads somewhere, and nothing is loaded from elsewhere")
    sys.exit(1 if wrong else 0)


def faults(path: Path, page: Page, pages: dict[Path, Page]) -> list[str]:
    """What is wrong with a page's addresses."""
    wrong = []
    for address in page.loads:
        if outside(address):
            wrong.append(f"loads {address}")
        elif not address.startswith("data:") and not target(path, address)[0].is_file():
            wrong.append(f"loads {address}, which is not there")
    for address in page.links:
        if outside(address) or address.startswith("mailto:"):
            continue
        file, anchor = target(path, address)
        if not file.is_file():
            wrong.append(f"links to {address}, which is not there")
        elif anchor and file in pages and anchor not in pages[file].anchors:
            wrong.append(f"links to {address}, and there is no such heading")
    return wrong


def outside(address: str) -> bool:
    """Whether an address leads out of the site."""
    return bool(urlsplit(address).netloc) or urlsplit(address).scheme in ("http", "https")


def target(path: Path, address: str) -> tuple[Path, str]:
    """The file that an address names, and the place in it."""
    parts = urlsplit(address)
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
    return (file / "index.html" if file.is_dir() else file), unquote(parts.fragment)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
