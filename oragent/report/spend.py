"""The cost of a run: evaluations, time, model calls, money."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from oragent._base.protocol import Status
from oragent.ledger import RecordedReply
from oragent.search.candidate import Committed


@dataclass(frozen=True)
class CallTotals:
    """Sums over model calls.

    Attributes:
        number: Number of replies received.
        tokens_in: Tokens of the prompts.
        tokens_out: Tokens of the replies.
        cost: US dollars, over the replies whose price is known.
        unpriced: Number of replies whose price is not known.
        seconds: Seconds spent waiting, summed over calls that may have run side by side.
        retries: Number of attempts that failed before a reply came.
    """

    number: int
    tokens_in: int
    tokens_out: int
    cost: float
    unpriced: int
    seconds: float
    retries: int

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies together."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True)
class Spend:
    """Cost of a run.

    Attributes:
        candidates: Number of programs that were tried, equal ones and rejected ones included, probes not.
        probes: Number of programs that were run for what they print.
        screened: Number of those that were ended before a full score, as they did badly until then.
        evaluations: Number of programs that were run, probes too; equal ones count once.
        seconds: Seconds of the run's own time, over all sittings.
        cpu_s: CPU seconds of all evaluations.
        wall_median_s: Median time of an evaluation by the clock, seconds; None without one.
        calls: Calls of models, all of them: also those of rounds that were not finished.
        by_model: Calls of each model, by its name.
        by_role: Calls in each role that a prompt plays.
    """

    candidates: int
    probes: int
    screened: int
    evaluations: int
    seconds: float
    cpu_s: float
    wall_median_s: float | None
    calls: CallTotals
    by_model: dict[str, CallTotals]
    by_role: dict[str, CallTotals]

    @property
    def per_hour(self) -> float | None:
        """Evaluations an hour; None before any time has passed."""
        return self.evaluations / self.seconds * 3600 if self.seconds > 0 else None


def sum_spending(records: Sequence[Committed], replies: Sequence[RecordedReply], seconds: float) -> Spend:
    """Sum up a run."""
    distinct = {record.candidate.fingerprint: record.candidate.evaluation for record in records}
    ran = [evaluation for evaluation in distinct.values() if evaluation.was_started]
    solutions = [record.candidate for record in records if not record.candidate.is_probe]
    paid = {candidate.fingerprint for candidate in solutions if candidate.evaluation.was_started}
    return Spend(
        candidates=len(solutions),
        probes=len(records) - len(solutions),
        screened=sum(candidate.evaluation.status is Status.SCREENED for candidate in solutions),
        evaluations=len(paid),
        seconds=seconds,
        cpu_s=sum(evaluation.cpu_s for evaluation in ran),
        wall_median_s=median(evaluation.wall_s for evaluation in ran) if ran else None,
        calls=_sum_calls(replies),
        by_model=_group_calls(replies, lambda reply: reply.model),
        by_role=_group_calls(replies, lambda reply: reply.role),
    )


def _group_calls(replies: Sequence[RecordedReply], key: Callable[[RecordedReply], str]) -> dict[str, CallTotals]:
    groups: dict[str, list[RecordedReply]] = {}
    for reply in replies:
        groups.setdefault(key(reply), []).append(reply)
    return {
        name: _sum_calls(group) for name, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    }


def _sum_calls(replies: Iterable[RecordedReply]) -> CallTotals:
    every = list(replies)
    return CallTotals(
        number=len(every),
        tokens_in=sum(reply.tokens_in for reply in every),
        tokens_out=sum(reply.tokens_out for reply in every),
        cost=sum(reply.money or 0.0 for reply in every),
        unpriced=sum(reply.money is None for reply in every),
        seconds=sum(reply.seconds for reply in every),
        retries=sum(reply.retries for reply in every),
    )
