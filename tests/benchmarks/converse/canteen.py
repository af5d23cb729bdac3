"""A decision problem of 70 lines: dishes (cost, liking) for guests who want one dish and a cheap menu."""

from dataclasses import asdict, dataclass
from functools import cached_property

from oragent.modelling import IndexedModel, Objective, Relation, Row, Sense, Variable
from oragent_benchmarks.converse.decision import Goal, Judged
from oragent_benchmarks.converse.paradigms import negotiate
from oragent_benchmarks.converse.problems.formulated import FormulatedProblem
from oragent_benchmarks.converse.solving import StateSolver
from oragent_benchmarks.converse.stakeholders import PersonaTexts, Profile, Wish
from oragent_benchmarks.converse.state import Restriction, RestrictionKind

DISHES = {"soup": (2, 3), "pasta": (3, 6), "fish": (6, 8), "salad": (2, 4), "cake": (1, 5)}


class Canteen(FormulatedProblem):
    def stakeholders(self):
        return Guests()


class Guests:
    telling = PersonaTexts(("a guest",), about="dishes", wishes="the dish that you want, and the cost")

    def generated(self, rng, functions=0):
        return [Guest(dish, limit) for dish in DISHES for limit in (6, 9)]

    def of(self, record):
        return Guest(**record), ()


@dataclass(frozen=True)
class Guest:
    dish: str
    limit: float
    record = asdict

    @property
    def wishes(self):
        cheap = Restriction(RestrictionKind.BOUND, "cost", relation="<=", value=self.limit)
        return Wish(Restriction(RestrictionKind.FIX, self.dish, "1"), 0.7), Wish(cheap, 0.3)

    @property
    def outcomes(self):
        first, second = (wish.asked for wish in self.wishes)
        return (first, second), (first,), (second,), ()

    @cached_property
    def best(self):
        return (negotiate(StateSolver(menu), self.outcomes)[0],)

    @property
    def profile(self):
        return Profile({"dish": self.dish}, wishes=f"You want {self.dish}, and a cheap menu.")

    def worth(self, decision):
        is_cheap = menu.features(decision)[0] <= self.limit
        return 0.7 * menu.values(decision).get(self.dish, 0.0) + 0.3 * is_cheap

    def __call__(self, decision):
        return Judged(self.worth(decision), self.worth(self.best[0]))


cost = Goal("cost", "cost", "EUR", {name: euros for name, (euros, _) in DISHES.items()})
liking = Goal(
    "liking", "liking", "points", {name: points for name, (_, points) in DISHES.items()}, sense=Sense.MAXIMIZE
)
courses = Row("courses", dict.fromkeys(DISHES, 1.0), Relation.EQUAL, 3)
binary = tuple(Variable(name, 0, 1, "integer") for name in DISHES)
menu = Canteen(IndexedModel.from_records(binary, (courses,), Objective(), Sense.MINIMIZE, "menu"), goals=(cost, liking))
