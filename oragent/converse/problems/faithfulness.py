"""Figures that an agent states, against the same figures recomputed from the schedules that it presents."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from oragent.converse.decision import AnswerRemark, ClaimStatus, RemarkKind
from oragent.converse.problems.district import District, format_clock
from oragent.converse.problems.mentions import (
    AmountRelation,
    MentionedAmount,
    Named,
    ParsedSentence,
    Unit,
    find_placements,
    parse_sentence,
    split_sentences,
)

MEAN = re.compile(r"(?i)\b(?:deviation|average|mean|overall|per school)\b")
LOAD = re.compile(r"(?i)\b(?:loads?|busiest|peak|max(?:imum)?|any (?:one|single))\b")
OPEN = re.compile(  # sentences about what is not, or not yet, the case
    r"(?i)\b(?:if|would|could|might|may|can|cannot|option|alternative(?:ly)?|instead|suppose|consider|possible|impossible|"
    r"feasible|infeasible|requires?|no (?:schedule|solution|way))\b|can['’]t|\?"
)


class Truth(StrEnum):
    """What a stated figure is worth."""

    TRUE = "true"  # of a schedule presented with it
    EARLIER = "earlier"  # of today's times, or of a schedule presented before
    FALSE = "false"
    UNCHECKED = "unchecked"  # a bound, a difference, a supposition, or not understood


@dataclass(frozen=True)
class StatedFigure:
    """A figure that was stated."""

    kind: str  # kind of figure: ``load``, ``deviation``, ``time``, ``students``, ``change``, or ``unknown``
    told: str  # figure as it was said, such as ``2453 students``
    sentence: str
    truth: Truth


def check_figures(
    district: District, text: str, presented: Sequence[str], earlier: Sequence[str] = ()
) -> tuple[StatedFigure, ...]:
    """Every figure of a message: load, deviation, loads of single times, times and changes of schools.

    Args:
        district: District whose schedules these are.
        text: Text of the message; tables of schools are left to ``read``, which takes them as the proposal itself.
        presented: Schedules that the message presents.
        earlier: Schedules presented before, the default one among them.

    Returns:
        In the order of the text; a figure that is not understood is there too, unchecked.
    """
    judge = _Judge(district, tuple(presented), tuple(earlier))
    return tuple(
        figure
        for sentence in split_sentences(text)
        if (parsed := parse_sentence(district, sentence)).named or parsed.amounts
        for figure in judge.sentence(parsed)
    )


@dataclass(frozen=True)
class _Values:
    """What a figure truly is: in schedules presented, and before."""

    presented: tuple[float, ...]
    earlier: tuple[float, ...]

    def truth(self, fits: Callable[[float], bool], supposed: bool) -> Truth:
        if any(map(fits, self.presented)):
            return Truth.TRUE
        if any(map(fits, self.earlier)):
            return Truth.EARLIER
        return Truth.UNCHECKED if supposed else Truth.FALSE


@dataclass(frozen=True)
class _Judge:
    district: District
    presented: tuple[str, ...]
    earlier: tuple[str, ...]

    def sentence(self, parsed: ParsedSentence) -> Iterator[StatedFigure]:
        supposed = bool(OPEN.search(parsed.text))
        for amount in parsed.amounts:
            kind, values = self._judge_amount(parsed, amount)
            checked = values is not None and (amount.relation is AmountRelation.EQUAL or kind == "change")
            truth = values.truth(amount.fits, supposed) if values and checked else Truth.UNCHECKED
            yield StatedFigure(kind, f"{amount.value:g} {amount.unit}", parsed.text, truth)
        for school, time in find_placements(parsed):
            statement = f"{self.district.schools[school].name} {format_clock(time.minutes or 0)}"
            yield StatedFigure("time", statement, parsed.text, self._judge_time(school, time, supposed))

    def _judge_amount(self, sentence: ParsedSentence, amount: MentionedAmount) -> tuple[str, _Values | None]:
        """What an amount is an amount of, and what that is; of several things in a sentence it may be any."""
        schools = {named.school for named in sentence.named if named.school is not None}
        times = {self.district.times.index(t.minutes) for t in sentence.named if t.minutes in self.district.times}
        if amount.unit is Unit.MINUTES:
            moved = self._compute_values(
                lambda schedule: [abs(self.district.changes(schedule)[school]) for school in schools]
            )
            if schools and (amount.relation is AmountRelation.STEP or not MEAN.search(sentence.text)):
                return "change", moved
            mean = self._compute_values(lambda schedule: [self.district.features(schedule).deviation])
            return ("deviation", _join_values(mean, moved)) if MEAN.search(sentence.text) else ("unknown", None)
        carried = self._compute_values(lambda schedule: [self.district.schools[school].students for school in schools])
        if LOAD.search(sentence.text) or times:
            load = self._compute_values(lambda schedule: [self.district.features(schedule).load])
            at_times = self._compute_values(lambda schedule: [self.district.loads(schedule)[time] for time in times])
            return "load", _join_values(_join_values(load, at_times), carried)
        return ("students", carried) if schools else ("unknown", None)

    def _judge_time(self, school: int, time: Named, supposed: bool) -> Truth:
        starts = self._compute_values(lambda schedule: [self.district.times[self.district.chosen(schedule)[school]]])
        earlier = (*starts.earlier, self.district.schools[school].current)
        # "X now starts at 8:40" may be of today or of the schedule: either makes it true.
        return _Values(starts.presented, earlier).truth(lambda true: true == time.minutes, supposed)

    def _compute_values(self, figure: Callable[[str], Sequence[float]]) -> _Values:
        presented = tuple(value for schedule in self.presented for value in figure(schedule))
        return _Values(presented, tuple(value for schedule in self.earlier for value in figure(schedule)))


def _join_values(first: _Values, second: _Values) -> _Values:
    return _Values(first.presented + second.presented, first.earlier + second.earlier)


STANDINGS = {Truth.FALSE: ClaimStatus.FALSE, Truth.UNCHECKED: ClaimStatus.UNKNOWN}


def figure_remarks(
    district: District, text: str, presented: Sequence[str], earlier: Sequence[str]
) -> Iterator[AnswerRemark]:
    """Every figure of an answer."""
    for stated in check_figures(district, text, presented, tuple(earlier)):
        standing = STANDINGS.get(stated.truth, ClaimStatus.TRUE)
        yield AnswerRemark(RemarkKind.FIGURE, standing, f"{stated.told}: {stated.sentence}")
