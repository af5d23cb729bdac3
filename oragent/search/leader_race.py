"""Comparison of a new leader with the best program before it on new instances, until it is shown to be better.

The score of a leader is partly luck, because it is the best of many on the same instances. A race draws further
practice instances, round by round, and pools them. It ends when the sequential test of ``oragent._base.sequential``
shows a difference, and its interval excludes 0, at any round, or after a number of rounds.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from annotated_types import Ge
from pydantic import FiniteFloat, TypeAdapter
from pydantic.dataclasses import dataclass as checked

from oragent._base.direction import Direction
from oragent._base.racing import read_instance_values
from oragent._base.safe_load import parse_json
from oragent._base.sequential import bet_on_differences, fewest_pairs
from oragent._base.settings import STRICT
from oragent._base.statistics import ALPHA, weigh_sizes
from oragent._base.text_format import format_count
from oragent.evaluation import Evaluation
from oragent.ledger.case import wait_for_all
from oragent.search.store import RoundNote

# Kind of notes; there is one for each race.
RACE_NOTE = "leader race"
# Number of hexadecimal digits of the hash that is the seed of the instances.
SEED_DIGITS = 12
Count = Annotated[int, Ge(0)]


@checked(frozen=True, config=STRICT)
class LeaderRace:
    """Result of a race."""

    # Fingerprint of the new leader.
    program: str
    # True if it was shown to be better.
    is_shown: bool
    # Number of instances on which both programs were measured, and the p-value of their differences.
    instances: Count
    p: FiniteFloat
    # Evaluations that the race took, and their units of work.
    evaluations: Count
    work: FiniteFloat = 0.0

    def to_note(self, number: int) -> RoundNote:
        """Return the note of round ``number``."""
        return RoundNote(number, RACE_NOTE, json.dumps(asdict(self)))


def list_races(notes: Sequence[RoundNote]) -> tuple[LeaderRace, ...]:
    """Return the races of some notes.

    Raises:
        ValueError: A note has another form.
    """
    reader = TypeAdapter(LeaderRace)
    return tuple(reader.validate_python(parse_json(note.text)) for note in notes if note.kind == RACE_NOTE)


def describe_races(races: Sequence[LeaderRace]) -> str:
    """Return how races ended, and their cost."""
    shown = sum(race.is_shown for race in races)
    evaluations = sum(race.evaluations for race in races)
    return f"{shown:,} shown to be better, {len(races) - shown:,} dropped; {evaluations:,} evaluations"


def weigh_gains(direction: Direction, former: Mapping[str, Any], leader: Mapping[str, Any]) -> list[float] | None:
    """Return the gain on each instance, above 0 if the leader is better, weighted so that sizes count alike.

    Metrics without values of the same instances give None.
    """
    first, second = read_instance_values(former), read_instance_values(leader)
    if first is None or second is None or first.keys() != second.keys():
        return None
    counts = [len(values) for values in first.values()]
    if counts != [len(second[size]) for size in first]:
        return None
    pairs = [pair for size in first for pair in zip(first[size], second[size], strict=True)]
    weights = weigh_sizes(counts)
    return [weight * direction.sign * (new - old) for weight, (old, new) in zip(weights, pairs, strict=True)]


def is_above_noise(
    direction: Direction, former: Mapping[str, Any], leader: Mapping[str, Any], tried: int
) -> bool | None:
    """Return whether a new leader is better than the former one beyond chance; None without figures by instance.

    The leader was chosen among ``tried`` programs by the same instances, so the level of the test (``sequential``) and
    of its interval, which must lie above 0, is divided by their number (Bonferroni).
    """
    gains = weigh_gains(direction, former, leader)
    if gains is None:
        return None
    level = ALPHA / max(tried, 1)
    test = bet_on_differences(gains, level=level)
    return test.p < level and test.low > 0


def describe_step(direction: Direction, former: Mapping[str, Any], leader: Mapping[str, Any], tried: int) -> str:
    """Describe the step from the former leader to a new one by `is_above_noise`; empty without figures by instance."""
    is_above = is_above_noise(direction, former, leader, tried)
    if is_above is None:
        return ""
    instances, needed = len(weigh_gains(direction, former, leader) or ()), fewest_pairs(ALPHA / max(tried, 1))
    if instances < needed:
        return f"not tested: {format_count(instances, 'instance')}, at least {needed} needed"
    return "above the noise" if is_above else "within the noise"


async def hold_race(
    measure: Callable[[str, int], Awaitable[Evaluation]],
    direction: Direction,
    programs: tuple[str, str],
    fingerprint: str,
    rounds: int,
    count_work: Callable[[Evaluation], float],
) -> LeaderRace:
    """Measure both programs on new instances in each round until one is shown to be better.

    Args:
        measure: Runs a program on the instances of a seed.
        direction: Direction of the score.
        programs: Texts of the former leader and of the new one.
        fingerprint: That of the new leader. The seeds follow from it, so a resumed run repeats its instances, and no
            program was chosen by them.
        rounds: Maximum number of rounds.
        count_work: Returns the units of work of an evaluation.
    """
    first_seed = int(hashlib.sha256(fingerprint.encode()).hexdigest()[:SEED_DIGITS], 16)
    gains: list[float] = []
    p, played, work, is_shown, is_worse = 1.0, 0, 0.0, False, False
    while played < rounds and not (is_shown or is_worse):
        former, leader = await wait_for_all([measure(program, first_seed + played) for program in programs])
        played += 1
        work += count_work(former) + count_work(leader)
        drawn = weigh_gains(direction, former.metrics, leader.metrics)
        if drawn is None:
            # One of the programs fails, so no difference can be tested.
            is_shown = former.score is None and leader.score is not None
            break
        gains += drawn
        if not any(gains):
            # Both programs do the same.
            break
        test = bet_on_differences(gains)
        p = test.p
        is_shown, is_worse = p < ALPHA and test.low > 0, p < ALPHA and test.high < 0
    return LeaderRace(fingerprint, is_shown, len(gains), p, 2 * played, work)
