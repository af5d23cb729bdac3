"""Measure agents on a decision problem of your own: a knapsack whose stakeholders want one thing and a light pack."""

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from rich.console import Console

from oragent.modelling import IndexedModel, Objective, Relation, Row, Sense, Variable
from oragent_benchmarks.converse.command import ConverseBenchRequest, run_bench
from oragent_benchmarks.converse.decision import Goal, Judged
from oragent_benchmarks.converse.paradigms import negotiate
from oragent_benchmarks.converse.problems.formulated import FormulatedProblem
from oragent_benchmarks.converse.solving import StateSolver
from oragent_benchmarks.converse.stakeholders import PersonaTexts, Profile, Wish
from oragent_benchmarks.converse.state import Restriction, RestrictionKind

ITEMS = {"tent": (4, 10), "stove": (3, 7), "rope": (2, 4), "book": (1, 1)}  # kilograms, points


class Trip(FormulatedProblem):
    """What to take along."""

    def stakeholders(self):
        """Return the generator of stakeholders."""
        return Hikers()


class Hikers:
    """Each wants one thing, and a light pack."""

    telling = PersonaTexts(
        ("the hiker who carries the pack",), about="things", wishes="the thing that you want, and kilograms"
    )

    def generated(self, rng, functions=0):
        """Draw the stakeholders."""
        return [Hiker(thing, kilograms, 0.6) for thing in ITEMS for kilograms in (3, 6)]

    def of(self, record):
        """Read a stakeholder from its record."""
        return Hiker(**record), ()


@dataclass(frozen=True)
class Hiker:
    """The thing is worth ``share``; a pack of at most ``kilograms`` is worth the rest."""

    thing: str
    kilograms: float
    share: float
    record = asdict

    @property
    def wishes(self):
        """Wishes as restrictions with weights: the requests of *one-shot* and *myopic*."""
        light = Restriction(RestrictionKind.BOUND, "weight", relation="<=", value=self.kilograms)
        return Wish(Restriction(RestrictionKind.FIX, self.thing, "1"), self.share), Wish(light, 1 - self.share)

    @property
    def outcomes(self):
        """Requests, best first: those of *rational*."""
        first, second = (wish.asked for wish in sorted(self.wishes, key=lambda wish: -wish.weight))
        return (first, second), (first,), (second,), ()

    @cached_property
    def best(self):
        """The decision of greatest utility."""
        return (negotiate(StateSolver(trip), self.outcomes)[0],)

    @property
    def profile(self):
        """Traits for the tables, and text for a language model that plays the stakeholder."""
        return Profile({"thing": self.thing}, wishes=f"You want the {self.thing}, and to carry little.")

    def worth(self, decision):
        """Return the utility of a decision."""
        taken, light = trip.values(decision).get(self.thing, 0.0), trip.features(decision)[1] <= self.kilograms
        return self.share * taken + (1 - self.share) * light

    def __call__(self, decision):
        """Return the utility of a decision, and the largest possible utility."""
        return Judged(self.worth(decision), self.worth(self.best[0]))


fun = Goal("fun", "fun", "points", {name: points for name, (_, points) in ITEMS.items()}, sense=Sense.MAXIMIZE)
load = Goal("weight", "weight", "kg", {name: kilograms for name, (kilograms, _) in ITEMS.items()})
room = Row("room", dict(load.terms), Relation.AT_MOST, 8)
binary = tuple(Variable(name, 0, 1, "integer") for name in ITEMS)
trip = Trip(IndexedModel.from_records(binary, (room,), Objective(), Sense.MINIMIZE, "trip"), goals=(fun, load))

if __name__ == "__main__":
    request = ConverseBenchRequest(
        Path("outputs/hikers"),
        trip,
        ["rules"],
        ["default", "one-shot", "conversation"],
        settings={"decider": "rational"},
    )
    # prints tables; outputs/hikers/report.html has a page for every conversation
    assert run_bench(request, Console()) == 0
