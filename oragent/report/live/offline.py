"""The live page as one HTML text, optionally with its data.

The live server sends the page, which requests its data. The file of a report contains its data. Both need no other
file.
"""

import hashlib
import json
import re
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from oragent._base.direction import Direction
from oragent._base.errors import StoreError
from oragent._base.files import replace_file
from oragent.report.live.evidence import read_elites, read_ideas, read_trust
from oragent.report.live.snapshot import RunReader
from oragent.report.pages.text import format_duration, format_score, read_tokens

STATIC = Path(__file__).with_name("static")
VENDORED = ("uplot.js", "diff.js", "prism.js")
MODULES = (
    "dom.js",
    "format.js",
    "data.js",
    "table.js",
    "charts.js",
    "code.js",
    "overview.js",
    "candidates.js",
    "structure.js",
    "evidence.js",
    "compare.js",
    "steering.js",
    "app.js",
)
IMPORT = re.compile(r"^import\s[^;]*;\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=function|const|class|async|let)", re.MULTILINE)


MAX_ROWS = 200_000
# Maximum number of candidates with program, prompt and reply: the ancestors of the best, then the latest in the
# archive.
MAX_DETAILS = 200
# Maximum number of bytes of these.
MAX_BYTES = 4_000_000


def join_modules() -> str:
    """Join our ES modules into one script. Each name is defined once, so imports and exports can be dropped."""
    texts = ((STATIC / name).read_text(encoding="utf-8") for name in MODULES)
    body = "\n".join(EXPORT.sub("", IMPORT.sub("", text)) for text in texts)
    return f'(() => {{\n"use strict";\n{body}\n}})();'


def make_page(nonce: str, data: dict[str, Any] | None = None, summary: str = "") -> str:
    """Write the page."""
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


def write_report(folder: Path) -> Path:
    """Write ``report.html`` into the folder of a run."""
    return write_offline(folder, folder / "report.html")


def write_offline(folder: Path, out: Path) -> Path:
    """Write the page of a run with its data. The same run gives the same file.

    The file contains all rows of candidates. It contains the programs of the seed, the best, its ancestors and other
    candidates in the archive, up to `MAX_DETAILS` candidates and `MAX_BYTES`.
    """
    reader = RunReader(folder)
    columns, summary = vars(reader.read_candidates(0, MAX_ROWS)), asdict(reader.read_summary())
    if not summary["best"]:
        raise StoreError(f"no candidate in {folder} has a score yet: wait, or continue it with 'oragent resume'")
    ids = [f"{first}.{second}" for first, second in zip(columns["round"], columns["number"], strict=True)]
    data = {
        "summary": summary,
        "candidates": columns,
        "details": _read_details(reader, _choose(columns, ids, summary)),
        "trust": read_trust(reader),
        "ideas": read_ideas(reader),
        "elites": read_elites(reader),
        "calls": [],
    }
    # A text cannot contain its own hash.
    nonce = hashlib.sha256(escape_json(data).encode("utf-8", "replace")).hexdigest()[:32]
    policy = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data: blob:"
    page = make_page(nonce, data, _summarize(data))
    page = page.replace("<title>", f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<title>', 1)
    try:
        replace_file(out, page)
    except OSError as problem:
        raise StoreError(f"cannot write {out}: {problem}") from None
    return out


def _choose(columns: dict[str, Any], ids: list[str], summary: dict[str, Any]) -> list[str]:
    """Return the ids of candidates whose programs go into the file, the most important first."""
    rows = {name: row for row, name in enumerate(ids)}
    chosen: dict[str, None] = dict.fromkeys((summary["best"], summary["seed"]))
    walked, name = set[str](), summary["best"]
    while name in rows and name not in walked:
        walked.add(name)
        chosen[name] = None
        name = next(iter(columns["parents"][rows[name]]), "")
    placed = [name for name, row in reversed(rows.items()) if columns["placed"][row] in ("N", "I")]
    return [*chosen, *(name for name in placed if name not in chosen)][:MAX_DETAILS]


def _read_details(reader: RunReader, names: list[str]) -> dict[str, dict[str, Any]]:
    details: dict[str, dict[str, Any]] = {}
    size = 0
    for name in names:
        detail = reader.read_candidate(name)
        size += len(escape_json(detail))
        if size > MAX_BYTES and details:
            break
        details[name] = detail
    return details


def _summarize(data: dict[str, Any]) -> str:
    """Write the part that needs no JavaScript: the result, its evidence and the best program."""
    summary, trust = data["summary"], data["trust"]
    seed, best = (data["details"].get(summary[name]) for name in ("seed", "best"))
    scores = [format_score(detail["score"]) for detail in (seed, best) if detail is not None]
    facts = [
        f"{' → '.join(scores)} ({Direction(summary['direction']).words})",
        summary["end"] or "not ended: interrupted, or still running",
        f"{len(data['candidates']['round']):,} candidates in {format_duration(summary['spent']['seconds'])}",
        *trust["sentences"],
    ]
    parts = [f"<h1>{escape(summary['title'])}</h1><ul>", *(f"<li>{escape(fact)}</li>" for fact in facts), "</ul>"]
    for name, detail in (("best", best), ("seed", seed)):
        if detail is not None:
            parts.append(f"<h2>{name}: {detail['score']}</h2><pre>{escape(detail['source'])}</pre>")
    parts.append(f"<p>To continue: <code>{escape(summary['command'])}</code></p>")
    return "".join(parts)
