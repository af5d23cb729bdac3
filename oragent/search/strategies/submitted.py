"""Programs of a client: each round scores one program that a client, such as a coding agent, submits.

The client replaces the model. A submission is stored as a reply before it is used, so a killed run scores no program
twice and a replay needs no client. The process of the run forwards submissions (``oragent.api.mcp.agent_runs``).
"""

import json
import re
from dataclasses import asdict, dataclass, field

from oragent._base.errors import ConfigError, ModelError, SearchFinished
from oragent._base.safe_load import parse_json
from oragent.llm.model import Message
from oragent.search.config import Blocks
from oragent.search.prompting.search_summary import TITLE, program_mark
from oragent.search.round_context import RoundContext
from oragent.search.strategy import Strategy

# Name of the strategy and of its model.
SUBMITTED = "submitted"
# Origin of a submitted program.
ORIGIN = "agent"
ROLE = "code"
PROMPT = "Submit a program as JSON: program, parents, idea."
CANDIDATE_ID = re.compile(r"\d{1,9}\.\d{1,9}")
# Largest numbers of characters.
MAX_PROGRAM = 200_000
MAX_IDEA = 600
MAX_PARENTS = 8


@dataclass(frozen=True)
class Submission:
    """Program that a client submits.

    Raises:
        ConfigError: The program is empty or too long, or a parent is not the id of a candidate.
    """

    program: str
    # Ids of candidates.
    parents: tuple[str, ...] = field(default=())
    # Idea of the program, in a few words.
    idea: str = ""

    def __post_init__(self) -> None:
        if not self.program.strip():
            raise ConfigError("the program is empty: submit its whole text")
        if len(self.program) > MAX_PROGRAM:
            raise ConfigError(
                f"the program has {len(self.program):,} characters; at most {MAX_PROGRAM:,} are allowed: shorten it"
            )
        if len(self.idea) > MAX_IDEA:
            raise ConfigError(f"the idea has {len(self.idea):,} characters; at most {MAX_IDEA} are allowed")
        if len(self.parents) > MAX_PARENTS:
            raise ConfigError(f"{len(self.parents)} parents; at most {MAX_PARENTS} are allowed")
        for parent in self.parents:
            if not CANDIDATE_ID.fullmatch(parent):
                raise ConfigError(f"{parent[:40]!r} is not the id of a candidate: expected an id such as 12.0")

    def dump(self) -> str:
        """Return the submission as JSON."""
        return json.dumps(asdict(self))


def parse_submission(text: str) -> Submission:
    """Read a submission from JSON.

    Raises:
        ConfigError: The JSON has the wrong form.
    """
    try:
        tree = parse_json(text, 8 * MAX_PROGRAM)
        return Submission(str(tree["program"]), tuple(map(str, tree["parents"])), str(tree["idea"]))
    except (ValueError, KeyError, TypeError):
        raise ConfigError("a submission is an object with program, parents and idea") from None


async def score_submission(run: RoundContext) -> None:
    """Score the next program that the client submits.

    A replay ends after the last recorded submission.
    """
    try:
        reply = await run.ask(ROLE, [Message("user", PROMPT)])
    except ModelError as problem:
        raise SearchFinished(str(problem)) from None
    await take_submission(run, reply.text)


async def take_submission(run: RoundContext, text: str) -> None:
    """Score the program of a submission, and note its idea."""
    try:
        submission = parse_submission(text)
    except ConfigError as problem:
        run.reject(text, str(problem), (), ORIGIN, 0)
        return
    candidate = await run.evaluate(submission.program, submission.parents, ORIGIN, 0)
    words = " ".join(submission.idea.split())
    if words:
        run.note(TITLE, f"{program_mark(candidate.source)} {words}")


STRATEGY = Strategy(
    name=SUBMITTED, round=score_submission, islands=1, window=4, blocks=Blocks.NONE, tuning=0.0, remembers=False
)
