"""Evidence for the best program, its ideas and the elites, as plain data for the page."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from oragent._base.errors import OragentError, StoreError
from oragent._base.safe_load import parse_json
from oragent._base.text_format import escape_text
from oragent.evaluation.hardening import HardenedCase
from oragent.ledger.database import Database
from oragent.report.final_round import Final, read_final
from oragent.report.fresh import Sets
from oragent.report.hardened import read_hardened
from oragent.report.held_out import best_text, read_check
from oragent.report.live.snapshot import MAX_JSON, QUERY_S, RunReader, clean_value, eval_command, find_leaders
from oragent.report.research import read_research
from oragent.report.run import load_run, read_sets
from oragent.report.run_verdicts import read_verdicts
from oragent.report.significance import compare_pairs
from oragent.report.solution_pictures import Picture, read_pictures
from oragent.report.swept_reference import read_swept
from oragent.report.terminal import list_elites, list_evidence
from oragent.search.folder import best_file
from oragent.search.program_header import split_head
from oragent.search.store import ISOLATION, Store
from oragent.search.strategies.or_agent.tree import MEMORY, MemoryNote

MAX_ELITES = 60
# Maximum number of guarantees of a machine, and of characters of each.
MAX_GUARANTEES, MAX_GUARANTEE = 40, 200
# Beginnings of the header lines of a program that are shown.
HEAD_LABELS = ("limits:", "used:", "idea:", "harden:")
# Maximum number of notes that are shown, and of characters of each.
MAX_NOTES, MAX_NOTE = 200, 4_000
# Beginnings of notes that contain data for the strategy instead of text.
RECORD = re.compile(r"[\[{]|[0-9a-f]{16}")


def read_trust(reader: RunReader) -> dict[str, Any]:
    """Collect the evidence for the best program: checks, and scores on held-out and fresh sets with intervals.

    Only the rows of the seed and of the best program are read, so that the time hardly grows with the run.
    """
    with _opened(reader) as store, reader.opened() as database:
        leaders = find_leaders(database, reader.about.direction)
        seed, best = leaders.seed, leaders.best
        if not best:
            return {"problem": "no candidate has a score yet", "sentences": [], "sets": [], "checks": ""}
        val = _read_figures(database, seed), _read_figures(database, best)
        checks, remarks, isolation = store.purity_checks(), store.remarks(), _read_isolation(store)
    folder, problem, sets = reader.folder, "", None
    try:
        sets = read_sets(folder, reader.about.direction, val)
    except OragentError as fault:
        problem = str(fault)
    hardened = read_hardened(folder)
    swept = read_swept(folder)
    shown = [verdict.sentence for verdict in read_verdicts(folder)]
    more = [*(swept.sentences if swept else []), *shown, *remarks]
    sentences = list_evidence(read_check(folder), hardened, sets, more, reader.about.packages)
    final, limits = read_final(folder, reader.about.direction), reader.about.settings.get("limits") or {}
    return {
        "problem": escape_text(problem),
        "seed": seed,
        "best": best,
        "sentences": [escape_text(text) for text in sentences],
        "sets": clean_value(_describe_sets(sets, val)) if sets else [],
        "figures": clean_value(dict(sets.figures)) if sets else {},
        "checks": escape_text(str(checks)) if checks.number else "",
        "hardened": [] if hardened is None else [_describe_case(case) for case in hardened.cases],
        "final": None if final is None else _describe_final(final),
        "limits": clean_value(dict(limits)) if isinstance(limits, dict) else {},
        "times": clean_value({name: value for name, value in val[1].items() if name.endswith(("seconds", "_s"))}),
        "head": _read_head(folder),
        "command": escape_text(eval_command(reader.about.problem_reference, best_file(folder))),
        "isolation": isolation,
        "pictures": [_describe_picture(image) for image in read_pictures(folder)],
    }


def _describe_case(case: HardenedCase) -> dict[str, Any]:
    seconds = None if case.seconds is None else clean_value(case.seconds)
    return {
        "name": case.name,
        "outcome": str(case.outcome),
        "reason": escape_text(case.reason),
        "seconds": seconds,
    }


def _read_isolation(store: Store) -> dict[str, Any] | None:
    try:
        recorded = parse_json(store.meta(ISOLATION) or "null")
    except ValueError:
        return None
    lists = [recorded.get(name) if isinstance(recorded, dict) else None for name in ("held", "missing")]
    texts = [
        [escape_text(str(item)[:MAX_GUARANTEE]) for item in items[:MAX_GUARANTEES]]
        for items in lists
        if isinstance(items, list)
    ]
    if len(texts) == 2:
        return {"held": texts[0], "missing": texts[1], "where": "the machine of this run"}
    return None


def _read_head(folder: Path) -> list[str]:
    try:
        lines = split_head(best_text(folder))[0]
    except StoreError:
        return []
    whole: list[str] = []
    for line in lines:
        # Continued lines are indented.
        if whole and line.startswith(" "):
            whole[-1] += f" {line.strip()}"
        else:
            whole.append(line)
    return [escape_text(line) for line in whole if line.startswith(HEAD_LABELS)]


@contextmanager
def _opened(reader: RunReader) -> Iterator[Store]:
    try:
        with Store(reader.folder / "run.db", readonly=True) as store:
            store.limit_queries(QUERY_S)
            yield store
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as problem:
        raise StoreError(f"{reader.folder / 'run.db'} is corrupted ({type(problem).__name__} {problem})") from None


def _read_figures(database: Database, name: str) -> dict[str, Any]:
    query = "SELECT score, metrics FROM candidates JOIN evaluations USING (fingerprint) WHERE round = ? AND number = ?"
    row = database.query_row(query, *map(int, name.split(".")))
    if row is None:
        return {}
    return {**parse_json(row["metrics"][:MAX_JSON]), "score": row["score"]}


def _describe_picture(picture: Picture) -> dict[str, Any]:
    described = {"caption": escape_text(picture.caption), "address": picture.address}
    if not picture.program:
        return described
    solution = {"instance": escape_text(picture.instance), "program": picture.program}
    return {**described, **solution, "value": clean_value(picture.value)}


def _describe_final(final: Final) -> dict[str, Any]:
    ranked = [[escape_text(rank.id), str(rank.measured), rank.val] for rank in final.ranked]
    return {"sentence": escape_text(final.sentence), "ranked": ranked}


def _describe_sets(sets: Sets, val: tuple[dict[str, Any], dict[str, Any]]) -> list[dict[str, Any]]:
    described = []
    pairs = {"val": compare_pairs(sets.direction, *val), **sets.pairs}
    for name, (seed, best) in sets.scores.items():
        pair = pairs.get(name)
        verdict = "the search chose the best by this set, so chance is part of it" if name == "val" else ""
        paired = pair and {**vars(pair), "counts": pair.counts, "verdict": verdict or pair.verdict}
        described.append(
            {
                "name": name,
                "seed": {"score": seed.score, "interval": seed.interval},
                "best": {"score": best.score, "interval": best.interval},
                "pair": paired,
            }
        )
    return described


def read_ideas(reader: RunReader) -> dict[str, Any]:
    """Read the trees of ideas and the memory of a run: lessons, reflections and advice by round."""
    with _opened(reader) as store:
        notes = store.notes()
        research = read_research(notes)
        grown: dict[tuple[str, str], int] = {}
        for note in notes:
            text = MemoryNote.load(note.text).text if note.kind == MEMORY else note.text
            if not RECORD.match(text) and " " in text:
                grown.setdefault((note.kind, text), note.round)
    latest = sorted(((number, *key) for key, number in grown.items()), reverse=True)[:MAX_NOTES]
    return {
        "research": None if research is None else clean_value(asdict(research)),
        "memory": [[number, escape_text(kind), escape_text(text)[:MAX_NOTE]] for number, kind, text in latest],
    }


def read_elites(reader: RunReader) -> dict[str, Any]:
    """Replay the archive with migrations and resets. Return islands with their elites, and the best elites of all."""
    data = load_run(reader.folder)
    rows, left_out = list_elites(data, MAX_ELITES)
    islands = [{"elites": len(elites), "best": elites[0].id if elites else ""} for elites in data.islands]
    cells = data.about.cell_count
    return {"islands": islands, "cells": cells, "rows": clean_value(list(map(asdict, rows))), "left_out": left_out}
