"""ReAct (Yao et al. 2023, arXiv:2210.03629): thought, action, observation, at most eight times.

Differs from the source: the actions are to look up a modelling pattern and to run a program; the same program twice, or
a reply without an action, ends it.
"""

import difflib
import re
from collections.abc import Mapping

from oragent._base.errors import ReplyError
from oragent.formulate.prompting import extract_program
from oragent.formulate.session import FormulationAttempt, FormulationSession, empty_attempt
from oragent.llm.model import Message

PATTERNS: Mapping[str, str] = {
    "ratio": "x is at least 70 % of x + y: x >= 0.7 * (x + y), linear; never divide by a variable",
    "fixed cost": "cost f if x > 0: binary z, x <= M * z with the smallest M that holds, cost f * z",
    "either or": "one of two rows: binary z, a <= b + M * z and c <= d + M * (1 - z)",
    "at least k": "at least k of n: sum of binaries >= k",
    "implication": "if a then b, for binaries: a <= b",
    "absolute value": "|e| in a minimisation: t >= e, t >= -e, minimise t",
    "maximum": "smallest largest value: t >= every value, minimise t; largest smallest: t <= every value, maximise t",
    "inventory": "stock after a period = stock before + made - sold; the first stock is given, stocks are not negative",
    "assignment": "binary x[i, j]; every i once: sum over j = 1; every j at most once: sum over i <= 1",
    "transport": "amount x[i, j] >= 0; sum over j <= supply of i; sum over i >= demand of j",
    "flow": "what enters a node leaves it, but for source and sink; each arc within its capacity",
    "covering": "every element is in a set that is chosen: sum of the binaries of its sets >= 1",
    "knapsack": "sum of weights of what is chosen <= capacity; binaries, or integers where several may be taken",
    "blending": "share of a part in a mix: amount of the part >= share * amount of the whole",
    "ordering": "i before j: start[j] >= start[i] + time[i] - M * (1 - before[i, j])",
    "tour": "every place entered and left once; u[i] - u[j] + n * x[i, j] <= n - 1 but for the first place",
    "integer": "people, trips, machines and pills come in whole numbers: cat='Integer'; litres and hours do not",
    "piecewise": "a cost with falling steps needs binaries; one with rising steps in a minimisation does not",
}


def look_up_pattern(term: str) -> str:
    """Return the pattern of a term or of the nearest one, or the list of terms."""
    near = difflib.get_close_matches(term.lower().strip(), PATTERNS, 1, 0.5)
    return f"{near[0]}: {PATTERNS[near[0]]}" if near else f"nothing on that; terms: {', '.join(PATTERNS)}"


MOST_ACTIONS = 8
MOST_VALUE_CHARACTERS = 2000  # of the values that are told
LOOKUP = re.compile(r"^\W*lookup\W*:\s*(.+)$", re.IGNORECASE | re.MULTILINE)


async def react(session: FormulationSession) -> FormulationAttempt:
    """Act and observe until there is nothing more to be done."""
    instructions = session.fill_prompt("react", terms=", ".join(PATTERNS), most=MOST_ACTIONS)
    messages = [Message("user", f"{session.fill_prompt('standard')}\n\n{instructions}")]
    for _ in range(MOST_ACTIONS):
        reply = await session.case.ask("react", messages, session.options.temperature)
        observed = await _act(session, reply.text)
        if not observed:
            break
        messages += [Message("assistant", reply.text),
                     Message("user", session.fill_prompt("observation", observation=observed))]  # fmt: skip
    if not session.attempts:
        session.attempts.append(empty_attempt("react", 0, "no program was run"))
    return session.newest


async def _act(session: FormulationSession, text: str) -> str:
    """What came of the action; empty where there was none, or nothing new."""
    try:
        source = extract_program(text, session.problem.interface.function)
    except ReplyError:
        match = LOOKUP.search(text)
        return look_up_pattern(match[1]) if match else ""
    if session.attempts and session.newest.source == source:
        return ""
    return outcome_text(await session.run_program("react", source))


def outcome_text(attempt: FormulationAttempt) -> str:
    """Describe the result of a program for its writer."""
    if attempt.has_failed:
        return attempt.error
    values = str(attempt.ran.values)
    told = values if len(values) <= MOST_VALUE_CHARACTERS else f"{values[:MOST_VALUE_CHARACTERS]}..."
    return f"status {attempt.ran.status}, objective {attempt.ran.objective}, values {told}"
