"""Problems, candidates and runs as JSON documents, for ``--json`` and for tools of the MCP server."""

from collections.abc import Mapping
from dataclasses import asdict

from oragent.evaluation.problem import Problem
from oragent.report.run import RunData
from oragent.search.candidate import Committed

# Figures of a held-out set in a document.
FIGURES = ("score", "ci95")


def describe_listed_problem(problem: Problem) -> dict[str, object]:
    """Return the entry of a problem in a list."""
    return {
        "name": problem.name,
        "function": problem.about.function,
        "better": problem.about.direction.comparative,
        "title": problem.about.title,
    }


def describe_candidate(record: Committed) -> dict[str, object]:
    """Return a candidate without its program."""
    evaluation = record.candidate.evaluation
    return {
        "id": record.id,
        "score": record.score,
        "status": str(evaluation.status),
        "features": evaluation.features,
        "origin": record.candidate.origin,
        "cpu_s": evaluation.cpu_s,
    }


def rank_elites(data: RunData) -> list[Committed]:
    """Return the elites of a run, best first."""
    by_id = {record.id: record for island in data.islands for record in island}
    return [by_id[elite.id] for elite in data.all_elites]


def describe_run(data: RunData) -> dict[str, object]:
    """Return the state of a run: seed, best, elites, spending, failures, end, and figures of held-out sets."""
    spend = data.spend
    return {
        "folder": str(data.folder),
        "problem": data.about.problem,
        "better": data.about.direction.comparative,
        "packages": dict(data.about.packages),
        "seed": describe_candidate(data.seed),
        "best": describe_candidate(data.best),
        "gain": data.gain.sentence,
        "elites": [describe_candidate(record) for record in rank_elites(data)],
        "spent": {
            "evaluations": spend.evaluations,
            "seconds": spend.seconds,
            "cpu_s": spend.cpu_s,
            "model_calls": spend.calls.number,
            "tokens": spend.calls.tokens,
            "money": spend.calls.cost,
        },
        "candidates": spend.candidates,
        "failures": {str(status): len(records) for status, records in data.failures.items()},
        "end": data.end or None,
        "sets": {} if data.sets is None else data.sets.scores,
        "pairs": {} if data.sets is None else data.sets.pairs,
        "reference": None if data.reference is None else asdict(data.reference),
        "verdicts": [{**asdict(verdict), "above_noise": verdict.is_above_noise} for verdict in data.verdicts],
        "hardened": None if data.hardened is None else asdict(data.hardened),
        "check": None if data.check is None else {"passed": data.check.passed, "sentence": data.check.sentence},
        "continue_with": data.resume_command,
    }


def describe_set(figures: Mapping[str, object] | None) -> dict[str, object]:
    """Return scores of seed and best program on a held-out set."""
    if figures is None:
        return {"missing": "the evaluator has no such set"}
    scores: dict[str, object] = {}
    for name in ("seed", "best"):
        entry = figures[name]
        assert isinstance(entry, Mapping)
        scores[name] = {key: entry[key] for key in FIGURES if key in entry}
    return {**scores, "paired": figures.get("paired")}


def describe_findings(findings: list[tuple[str, str, str]]) -> dict[str, object]:
    """Return findings of a check: level, title and detail of each, and the number of findings by level."""
    counts = {level: sum(entry[0] == level for entry in findings) for level in ("OK", "WARNING", "FAILURE")}
    rows = [{"level": level, "title": title, "detail": detail} for level, title, detail in findings]
    return {"passed": not counts["FAILURE"], "counts": counts, "findings": rows}
