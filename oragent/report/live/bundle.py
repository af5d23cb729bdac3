"""The page as one HTML text: our modules, joined, and the third-party builds beside them.

The live server sends it with data on request; the file of a report has its data inside. Both need no other file.
"""

import json
import re
from pathlib import Path
from typing import Any

from oragent.report.pages.tokens import read_tokens

STATIC = Path(__file__).with_name("static")
VENDORED = ("uplot.js", "diff.js", "prism.js")
MODULES = ("dom.js", "format.js", "data.js", "table.js", "charts.js", "code.js", "overview.js", "candidates.js",
           "structure.js", "evidence.js", "compare.js", "steering.js", "app.js")  # fmt: skip
IMPORT = re.compile(r"^import\s[^;]*;\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=function|const|class|async|let)", re.MULTILINE)


def join_modules() -> str:
    """Join our ES modules into one script: each name is defined once, so imports and exports can be dropped."""
    texts = ((STATIC / name).read_text(encoding="utf-8") for name in MODULES)
    body = "\n".join(EXPORT.sub("", IMPORT.sub("", text)) for text in texts)
    return f'(() => {{\n"use strict";\n{body}\n}})();'


def make_page(nonce: str, data: dict[str, Any] | None = None, summary: str = "") -> str:
    """Write the page.

    Args:
        nonce: Value that the content security policy requires of scripts and styles.
        data: Data inside the page; None if it asks the server.
        summary: HTML that is shown without JavaScript; it must be escaped.
    """
    sheets = [(STATIC / name).read_text(encoding="utf-8") for name in ("uplot.css", "style.css")]
    styles = "".join([read_tokens(), *sheets])
    scripts = [(STATIC / name).read_text(encoding="utf-8") for name in VENDORED] + [join_modules()]
    page = (STATIC / "page.html").read_text(encoding="utf-8")
    parts = {
        "STYLE": styles,
        "SUMMARY": summary,
        "DATA": escape_json(data),
        "SCRIPTS": "".join(f'<script nonce="{nonce}">{_expect_open(text)}</script>\n' for text in scripts),
        "NONCE": nonce,
    }
    return re.sub(r"%%(\w+)%%", lambda match: parts[match.group(1)], page)


def escape_json(value: object) -> str:
    """Write JSON that neither ends a script element nor opens a comment in it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028")


def _expect_open(text: str) -> str:
    """Check that a script does not end its own element."""
    if "</script" in text.lower():
        raise ValueError("a script of the page ends its own element")
    return text
