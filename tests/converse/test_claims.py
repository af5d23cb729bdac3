"""Claims of impossibility, resolved by enumeration; among them the false one of the published conversation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.converse.problems.claims import ClaimKind, ClaimVerdict, find_claims, resolve_claim
from oragent.converse.problems.district import SFUSD, Features, format_clock
from oragent.converse.problems.exact import FREE, Constraints, Exact, ScheduleObjective, enumerate_schedules

EXACT = Exact(enumerate_schedules(SFUSD))
MIDDLE = Constraints(frozenset({(1, 1)}), load=2564)  # turn 6: Ortega at 8:40, load below the default's
TURN_6 = Features(2560, 14.5)

TRUE, FALSE, UNPARSED = ClaimVerdict.TRUE, ClaimVerdict.FALSE, ClaimVerdict.UNPARSED

# sentence, verdict with nothing in force and a load of 2,560 and a deviation of 14.5 to beat
CLAIMS = [
    ("It is not possible to have Ortega at 7:50 AM with a deviation of at most 12 minutes.", TRUE),
    ("Ortega can't start at 7:50 with the deviation below 16.5 minutes.", TRUE),
    ("Ortega can't start at 7:50 with a deviation of 16.5 minutes or less.", FALSE),
    ("There is **no schedule** with a load below 2,565 students and Ortega at 8:40 AM and deviation ≤ 12.", TRUE),
    ("There is no schedule with Ortega at 8:40, a load below 2,565 and a deviation of at most 16 minutes.", FALSE),
    ("The lowest possible deviation with Ortega at 7:50 AM is 16.5 minutes.", TRUE),
    ("The lowest possible deviation with Ortega at 7:50 AM is 19.5 minutes.", FALSE),
    ("The minimum achievable load is 1,987 students.", TRUE),
    ("The minimum achievable load is 19.87 hundred students.", TRUE),
    ("With Ortega at 8:40 AM and deviation up to 16 minutes, the lowest load we can reach is 2,560 students.", TRUE),
    ("With Ortega at 8:40 AM and deviation up to 20 minutes, the lowest load we can reach is 2,560 students.", FALSE),
    ("The deviation cannot be reduced below 8.5 minutes.", TRUE),
    ("The load can't be lowered below 2,000 students.", FALSE),
    ("The load of 1,987 students cannot be lowered any further.", TRUE),
    ("With Ortega at 8:40 AM, allowing up to 20 minutes does not lower the load.", FALSE),
    ("With Ortega at 8:40 AM, allowing up to 16 minutes does not lower the load.", TRUE),
    ("No lower deviation is possible with Ortega at 7:50 AM.", TRUE),
    ("No lower deviation is possible.", FALSE),
    ("Ortega cannot move to 7:50 without raising the load above 2,565 students.", FALSE),
    ("Ortega at 7:50 AM requires a deviation of at least 16.5 minutes.", TRUE),
    ("Ortega at 7:50 AM requires a deviation of at least 19.5 minutes.", FALSE),
    ("You cannot have both a load of 2,000 students and a deviation of 9 minutes.", TRUE),
    ("Galileo and Balboa cannot both start at 7:50.", FALSE),
    ("7:50 AM: Galileo, Balboa and Everett is infeasible with a load of at most 3,700 students.", TRUE),
    ("The model is infeasible under these constraints.", FALSE),
    ("Unfortunately, I cannot move Ortega any earlier.", UNPARSED),
    ("It is impossible to start Ortega at 8:15.", UNPARSED),
    ("Ortega cannot be kept at 9:30; it moves to 8:40.", UNPARSED),
    ("A start at 7:50 isn't possible for Ortega with a deviation of 12 minutes.", UNPARSED),
    ("There isn't any schedule with Ortega at 7:50 and a deviation of 12 minutes.", TRUE),
    ("A deviation of 12 minutes isn’t feasible with Ortega at 7:50.", TRUE),
    ("Ortega cannot start later than 8:40.", UNPARSED),
    ("It is not possible to lower the load while Ortega stays at 8:40 with a deviation of 11.5 minutes.", TRUE),
    ("The load cannot go below 2,227 with Ortega at 8:40 and up to 20 minutes of deviation.", TRUE),
    ("I cannot share that.", UNPARSED),
    ("It is impossible to do better than the best possible outcome.", UNPARSED),
    ("Lick cannot move by more than 30 minutes.", UNPARSED),
]


@pytest.mark.parametrize(("sentence", "verdict"), CLAIMS)
def test_a_claim_is_worth_what_enumeration_says(sentence: str, verdict: ClaimVerdict) -> None:
    (claim,) = find_claims(SFUSD, f"Thank you for your patience. {sentence} Shall we try something else?")
    found = resolve_claim(claim, EXACT, FREE, TURN_6)
    assert found.verdict is verdict
    if found.witness:
        assert EXACT.allowed(claim.constraints)[EXACT.schedules.index(found.witness.schedule)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Here is the new schedule.",
        "It is not impossible, of course.",
        "Would it be impossible for you to start at 7:50?",
        "The load is 2,453 students and the deviation is 11.5 minutes.",
        "",
    ],
)
def test_what_claims_nothing_is_no_claim(sentence: str) -> None:
    assert find_claims(SFUSD, sentence) == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "Allowing up to 20 minutes does not lower the load any further.",
        "Even with a deviation of up to 20 minutes, the load does not decrease.",
        "If we allow a deviation of 20 minutes, no lower load is possible.",
        "Loosening the limit to 20 minutes won't bring the load down.",
    ],
)
def test_that_20_minutes_do_not_lower_the_load_is_false_and_2227_shows_it(sentence: str) -> None:
    (claim,) = find_claims(SFUSD, sentence)
    assert (claim.kind, claim.objective, claim.constraints.deviation) == (
        ClaimKind.NO_BETTER,
        ScheduleObjective.LOAD,
        20,
    )
    found = resolve_claim(claim, EXACT, MIDDLE, TURN_6)
    assert found.verdict is FALSE
    assert (found.witness.schedule, found.witness.features) == ("CBCABACBBC", Features(2227, 19.5))
    (sixteen,) = find_claims(SFUSD, sentence.replace("20", "16"))
    assert resolve_claim(sixteen, EXACT, MIDDLE, TURN_6).verdict is TRUE


def test_what_is_in_force_counts_and_what_the_claim_names_replaces_it() -> None:
    (bare,) = find_claims(SFUSD, "The model is infeasible under these constraints.")
    clash = Constraints(frozenset({(1, 1)}), load=2564, deviation=12)
    assert resolve_claim(bare, EXACT, clash, TURN_6).verdict is TRUE
    (other,) = find_claims(SFUSD, "It is not possible to have Ortega at 9:30 AM.")
    assert resolve_claim(other, EXACT, clash, TURN_6).verdict is FALSE
    forbidden = Constraints(forbidden=frozenset({(1, 2), (0, 0)}))
    assert resolve_claim(other, EXACT, forbidden, TURN_6).verdict is FALSE


def test_a_least_value_is_true_with_what_is_in_force_or_on_its_own() -> None:
    (alone,) = find_claims(SFUSD, "The least possible load is 1,987 students.")
    (bound,) = find_claims(SFUSD, "The least possible load is 2,560 students.")
    in_force = Constraints(frozenset({(1, 1)}), load=2000, deviation=16)
    assert resolve_claim(alone, EXACT, in_force, TURN_6).verdict is TRUE
    assert resolve_claim(bound, EXACT, in_force, TURN_6).verdict is TRUE
    assert resolve_claim(bound, EXACT, FREE, TURN_6).verdict is FALSE
    nothing = Constraints(frozenset({(1, 1), (1, 2)}))
    assert resolve_claim(bound, EXACT, nothing, TURN_6).verdict is FALSE


@given(
    st.integers(0, 9), st.integers(0, 2), st.integers(1900, 3000), st.integers(16, 40).map(lambda halves: halves / 2)
)
def test_any_clash_that_is_told_plainly_is_judged_as_enumeration_does(
    school: int, time: int, load: int, deviation: float
) -> None:
    name, at = SFUSD.schools[school].name, format_clock(SFUSD.times[time])
    text = f"{name} cannot start at {at} with a load of at most {load:,} students and deviation up to {deviation:g} minutes."
    (claim,) = find_claims(SFUSD, text)
    assert claim.constraints == Constraints(frozenset({(school, time)}), load=load, deviation=deviation)
    possible = EXACT.least_cost(claim.constraints)
    found = resolve_claim(claim, EXACT, FREE, TURN_6)
    assert (found.verdict is FALSE, found.witness) == (possible is not None, possible)


@given(st.integers(0, 9), st.integers(0, 2), st.integers(-3, 3))
def test_only_the_true_least_is_believed(school: int, time: int, off: int) -> None:
    least = EXACT.least(ScheduleObjective.LOAD, Constraints(frozenset({(school, time)}))).features.load
    name, at = SFUSD.schools[school].name, format_clock(SFUSD.times[time])
    (claim,) = find_claims(SFUSD, f"With {name} at {at}, the lowest possible load is {least + off:,} students.")
    assert resolve_claim(claim, EXACT, FREE, TURN_6).verdict is (FALSE if off else TRUE)


@given(st.text(alphabet="0123456789.,:<>≤ \nOrtega cannotlwupinfesb", max_size=120))
def test_no_text_at_all_can_raise(text: str) -> None:
    for claim in find_claims(SFUSD, f"{text} cannot {text}"):
        resolve_claim(claim, EXACT, FREE, TURN_6)


@pytest.mark.parametrize("text", ["cannot " * 14_000, "lowest " * 14_000, "9" * 99_000, "7:50\n" * 20_000, "1,000 " * 16_000,
                                  "requires at least " * 5_000, "no " * 33_000, "| " * 50_000])  # fmt: skip
def test_a_hostile_text_costs_no_more_than_its_length(text: str) -> None:
    assert len(find_claims(SFUSD, text)) <= 1
