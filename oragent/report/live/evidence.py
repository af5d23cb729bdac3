"""Evidence for the best program, its ideas and the elites, as plain data for the page."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from oragent._base.bounded_json import parse_json
from oragent._base.errors import OragentError, StoreError
from oragent._base.plain import escape_text
from oragent.ledger.database import Database
from oragent.report.audit import read_audit
from oragent.report.final import read_final
from oragent.report.fresh import Sets
from oragent.report.live.snapshot import MAX_JSON, QUERY_S, RunReader, clean_value, find_leaders
from oragent.report.pictured import Picture, read_pictures
from oragent.report.research import read_research
from oragent.report.run import load_run, read_sets
from oragent.report.view import list_elites, list_evidence
from oragent.search.store import Store

MAX_ELITES = 60


def read_trust(reader: RunReader) -> dict[str, Any]:
    """Collect the evidence for the best program: audits, and scores on held-out and fresh sets with intervals.

    Only the rows of the seed and of the best are read, so that the time hardly grows with the run.

    Raises:
        StoreError: if the database cannot be read.
    """
    with _opened(reader) as store, reader.opened() as database:
        leaders = find_leaders(database, reader.about.direction)
        seed, best = leaders.seed, leaders.best
        if not best:
            return {"problem": "no candidate has a score yet", "sentences": [], "sets": [], "audits": ""}
        val = _read_figures(database, seed), _read_figures(database, best)
        audits, remarks = store.audits(), store.remarks()
    folder, problem, sets = reader.folder, "", None
    try:
        sets = read_sets(folder, reader.about.direction, val)
    except OragentError as fault:
        problem = str(fault)
    final, limits = read_final(folder, reader.about.direction), reader.about.settings.get("limits") or {}
    return {
        "problem": escape_text(problem),
        "seed": seed,
        "best": best,
        "sentences": [escape_text(text) for text in list_evidence(read_audit(folder), sets, remarks)],
        "sets": clean_value(_describe_sets(sets)) if sets else [],
        "figures": clean_value(dict(sets.figures)) if sets else {},
        "audits": escape_text(str(audits)) if audits.number else "",
        "final": None if final is None else {
            "sentence": escape_text(final.sentence),
            "ranked": [[escape_text(rank.id), str(rank.measured), rank.val] for rank in final.ranked],
        },
        "limits": clean_value(dict(limits)) if isinstance(limits, dict) else {},
        "times": clean_value({name: value for name, value in val[1].items() if name.endswith(("seconds", "_s"))}),
        "pictures": [_describe_picture(image) for image in read_pictures(folder)],
    }  # fmt: skip


@contextmanager
def _opened(reader: RunReader) -> Iterator[Store]:
    try:
        with Store(reader.folder / "run.db", readonly=True) as store:
            store.limit_queries(QUERY_S)
            yield store
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as problem:
        raise StoreError(f"{reader.folder / 'run.db'} is corrupted ({type(problem).__name__} {problem})") from None


def _read_figures(database: Database, name: str) -> dict[str, Any]:
    """Return score and metrics of a candidate."""
    query = "SELECT score, metrics FROM candidates JOIN evaluations USING (fingerprint) WHERE round = ? AND number = ?"
    row = database.query_row(query, *map(int, name.split(".")))
    return {} if row is None else {**parse_json(row["metrics"][:MAX_JSON]), "score": row["score"]}


def _describe_picture(picture: Picture) -> dict[str, Any]:
    described = {"caption": escape_text(picture.caption), "address": picture.address}
    if not picture.program:
        return described
    solution = {"instance": escape_text(picture.instance), "program": picture.program}
    return {**described, **solution, "value": clean_value(picture.value)}


def _describe_sets(sets: Sets) -> list[dict[str, Any]]:
    described = []
    for name, (seed, best) in sets.scores.items():
        pair = sets.pairs.get(name)
        described.append(
            {
                "name": name,
                "seed": {"score": seed.score, "interval": seed.interval},
                "best": {"score": best.score, "interval": best.interval},
                "pair": None if pair is None else {**vars(pair), "counts": pair.counts, "verdict": pair.verdict},
            }
        )
    return described


def read_ideas(reader: RunReader) -> dict[str, Any]:
    """Read the trees of ideas and the long-term memory of a run with research rounds.

    Raises:
        StoreError: if the database or a note in it cannot be read.
    """
    with _opened(reader) as store:
        research = read_research(store.notes())
    return {"research": None if research is None else clean_value(asdict(research))}


def read_elites(reader: RunReader) -> dict[str, Any]:
    """Replay the archive with migrations and resets: islands with their elites, and the best elites of all.

    Raises:
        StoreError: if the run cannot be read.
    """
    data = load_run(reader.folder)
    rows, left_out = list_elites(data, MAX_ELITES)
    islands = [{"elites": len(elites), "best": elites[0].id if elites else ""} for elites in data.islands]
    cells = data.about.cell_count
    return {"islands": islands, "cells": cells, "rows": clean_value(list(map(asdict, rows))), "left_out": left_out}
