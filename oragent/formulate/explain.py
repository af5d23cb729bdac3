"""What an answer means, in sentences, with the words of the problem behind its rows; no model is asked."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from oragent.formulate.pool import PoolEntry
from oragent.milp.explanation import explain
from oragent.milp.inverses import Inverse, inverse
from oragent.milp.model import Milp
from oragent.milp.remark import ModelRemark
from oragent.milp.solution import Solution


def explained(milp: Milp, solution: Solution, limit_s: float = 30.0) -> tuple[ModelRemark, ...]:
    """Which constraints bind and what one unit more is worth, what has room; or the conflict, or what runs off."""
    return explain(milp, solution, limit_s)


def made_optimal(milp: Milp, values: Mapping[str, float], limit_s: float = 30.0) -> Inverse:
    """The least change of costs under which given values would be the optimum.

    Raises:
        MilpError: The values break the model.
    """
    return inverse(milp, values, limit_s)


def sentences(pool: Sequence[PoolEntry]) -> dict[str, str]:
    """The sentence of the problem behind each constraint, by a plain form of its name.

    Args:
        pool: What was said: the formalization gives "name: LaTeX -- sentence".
    """
    found: dict[str, str] = {}
    for entry in pool:
        rows = entry.parsed.get("CONSTRAINTS") if isinstance(entry.parsed, dict) else None
        for row in rows if isinstance(rows, list) else ():
            name, _, rest = str(row).partition(":")
            if " -- " in rest and rest.rpartition(" -- ")[2].strip():
                found[_key(name)] = rest.rpartition(" -- ")[2].strip()
    return found


def with_sentences(milp: Milp, known: Mapping[str, str]) -> Milp:
    """The model, each row without a meaning with the sentence that goes by its name, or by a plain form of it."""
    rows = tuple(
        row if row.meaning else replace(row, meaning=known.get(row.name) or known.get(_key(row.name), ""))
        for row in milp.rows
    )
    return replace(milp, rows=rows)


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.lower())
