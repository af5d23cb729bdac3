"""The live page as one file with its data inside: no server, and no request to anywhere."""

import secrets
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from oragent._base.errors import StoreError
from oragent._base.files import replace
from oragent.report.live.bundle import escape_json, make_page
from oragent.report.live.snapshot import RunReader, read_trust

MAX_ROWS = 200_000
MAX_DETAILS = 200  # candidates with program, prompt and reply: the way to the best, then the latest that were placed
MAX_BYTES = 4_000_000  # of these


def write_offline(folder: Path, out: Path) -> Path:
    """Write the page of a run with its data inside.

    The file holds all rows of candidates. It holds programs of the seed, the best, its ancestors and other placed ones,
    up to `MAX_DETAILS` candidates and `MAX_BYTES`.

    Returns:
        The file.

    Raises:
        StoreError: if the run cannot be read, or the file cannot be written.
        ConfigError: if its ``config.yaml`` is not the configuration of a run.
    """
    reader = RunReader(folder)
    columns, trust = asdict(reader.read_candidates(0, MAX_ROWS)), read_trust(reader)
    ids = [f"{first}.{second}" for first, second in zip(columns["round"], columns["number"], strict=True)]
    data = {
        "summary": asdict(reader.read_summary()),
        "candidates": columns,
        "details": _read_details(reader, _choose(columns, ids, trust)),
        "trust": trust,
        "calls": [],
    }
    nonce = secrets.token_urlsafe(16)
    policy = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data: blob:"
    page = make_page(nonce, data, _summarize(data))
    page = page.replace("<title>", f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<title>', 1)
    try:
        replace(out, page)
    except OSError as problem:
        raise StoreError(f"cannot write {out}: {problem}") from None
    return out


def _choose(columns: dict[str, Any], ids: list[str], trust: dict[str, Any]) -> list[str]:
    """Return the ids of candidates whose programs are in the file, the most important first."""
    rows = {name: row for row, name in enumerate(ids)}
    chosen: dict[str, None] = {}
    name = trust.get("best", "")
    while name in rows and name not in chosen:
        chosen[name] = None
        name = next(iter(columns["parents"][rows[name]]), "")
    if trust.get("seed") in rows:
        chosen[trust["seed"]] = None
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
    """Write what is readable without JavaScript: the result and the best program."""
    summary, trust = data["summary"], data["trust"]
    parts = [f"<h1>{escape(summary['title'])}</h1>", f"<p>{escape(summary['end'] or summary['state'])}</p>"]
    for name in ("seed", "best"):
        detail = data["details"].get(trust.get(name, ""))
        if detail is not None:
            parts.append(f"<h2>{name}: {detail['score']}</h2><pre>{escape(detail['source'])}</pre>")
    return "".join(parts)
