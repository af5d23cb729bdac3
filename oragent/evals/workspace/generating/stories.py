"""What a stakeholder says of each family of problems: the rules in words, the figures in files.

A story gives each key of a family's data its unit, its meaning, and the columns by which its figures are looked up.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Plain = Mapping[str, Any]


@dataclass(frozen=True)
class Story:
    """The words of a family.

    Attributes:
        domain: Branch of business.
        voice: Who speaks, and of what.
        rules: What holds, in sentences without figures.
        aim: What is wanted.
        index: Columns by which a key's figures are looked up; none for a single figure.
        units: Unit of each key; empty or missing for none.
        meanings: What each key says.
        shaped: Brings the family's data into the form of these keys.
    """

    domain: str
    voice: str
    rules: tuple[str, ...]
    aim: str
    index: Mapping[str, tuple[str, ...]]
    units: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    shaped: Callable[[Plain], Plain] = dict


def _ones(table: Plain) -> dict[str, dict[str, int]]:
    return {outer: dict.fromkeys(inner, 1) for outer, inner in table.items()}


def _numbered(values: list[Any], first: int = 1) -> dict[str, Any]:
    return {str(place): value for place, value in enumerate(values, first)}


def _products(data: Plain) -> dict[str, Any]:
    columns = ("category", "price", "discount", "performance", "in_stock", "direct_sale")
    return {
        column: {one["name"]: {True: "yes", False: "no"}.get(one[column], one[column])
                 if isinstance(one[column], bool) else one[column] for one in data["products"]}
        for column in columns
    } | {"budget": data["budget"]}  # fmt: skip


STORIES: dict[str, Story] = {
    "product_mix": Story(
        "Manufacturing", "The workshop's planner writes about next week's schedule.",
        ("Every product may be made in any amount, fractions of a unit included, and no more than can be sold.",
         "A unit occupies each machine for the hours listed, and no machine runs longer than its weekly hours."),
        "We want the amounts that earn the most in the week.",
        {"profit": ("product",), "demand": ("product",), "hours": ("machine", "product"), "capacity": ("machine",)},
        {"profit": "EUR", "demand": "units", "hours": "h", "capacity": "h"},
        {"profit": "earned by a unit", "demand": "most that can be sold a week", "hours": "needed by a unit",
         "capacity": "available a week"},
    ),
    "blending": Story(
        "Energy", "The refinery's blending desk writes about the next batch of petrol.",
        ("The batch is mixed from the crudes in stock, never more of a crude than there is.",
         "The batch has exactly the stated number of barrels.",
         "Octane and sulphur of the mix are averages by volume: octane must not fall below the least number, sulphur "
         "must not exceed the most."),
        "We want the cheapest batch.",
        {"cost": ("crude",), "stock": ("crude",), "octane": ("crude",), "sulphur": ("crude",), "barrels": (),
         "least_octane": (), "most_sulphur": ()},
        {"cost": "EUR", "stock": "barrels", "barrels": "barrels"},
        {"cost": "price of a barrel", "stock": "barrels on hand", "octane": "octane number",
         "sulphur": "kg per hundred barrels", "barrels": "size of the batch", "least_octane": "least octane of the mix",
         "most_sulphur": "most kg per hundred barrels of the mix"},
    ),
    "diet": Story(
        "Food service", "The canteen's dietician writes about the daily ration.",
        ("Portions may be divided, and nobody accepts more portions of a food in a day than listed.",
         "Over all foods, a ration holds at least the needed amount of each nutrient."),
        "We want the ration that costs the least.",
        {"price": ("food",), "most": ("food",), "content": ("nutrient", "food"), "need": ("nutrient",)},
        {"price": "cents", "most": "portions", "content": "mg", "need": "mg"},
        {"price": "of a portion", "most": "accepted a day", "content": "in a portion", "need": "least in a ration"},
    ),
    "transport": Story(
        "Logistics", "The distribution manager writes about this week's deliveries.",
        ("A depot sends out no more pallets than it has in stock.", "Every shop receives at least what it needs.",
         "Any depot may serve any shop, at the cost a pallet listed for the pair."),
        "We want the cheapest plan.",
        {"supply": ("depot",), "demand": ("shop",), "cost": ("depot", "shop")},
        {"supply": "pallets", "demand": "pallets", "cost": "EUR"},
        {"supply": "in stock", "demand": "needed", "cost": "of sending a pallet"},
    ),
    "assignment": Story(
        "Services", "The shift lead writes about who does what tomorrow.",
        ("Each worker does exactly one task, and each task is done by exactly one worker.",
         "How long a worker takes depends on worker and task."),
        "We want the fewest hours in total.",
        {"hours": ("worker", "task")}, {"hours": "h"}, {"hours": "taken by the worker for the task"},
    ),
    "knapsack": Story(
        "Logistics", "The dispatcher writes about what goes on the van.",
        ("Each piece is taken whole or left behind.", "The van carries no more than its capacity."),
        "We want the load that is worth the most.",
        {"weight": ("piece",), "value": ("piece",), "capacity": ()},
        {"weight": "kg", "value": "EUR", "capacity": "kg"},
        {"weight": "of the piece", "value": "worth of the piece", "capacity": "what the van may carry"},
    ),
    "configuration": Story(
        "Retail", "The sales desk writes about a computer for a customer.",
        ("Exactly one product of every category goes into the computer.",
         "Only products that are in stock and sold directly may be chosen.",
         "The price paid is the price less the discount in per cent, and all together may not cost more than the "
         "budget."),
        "We want the most performance points.",
        {"category": ("product",), "price": ("product",), "discount": ("product",), "performance": ("product",),
         "in_stock": ("product",), "direct_sale": ("product",), "budget": ()},
        {"price": "EUR", "performance": "points", "budget": "EUR"},
        {"category": "of the product", "price": "before the discount", "discount": "in per cent of the price",
         "performance": "points", "in_stock": "yes or no", "direct_sale": "yes or no", "budget": "most to be paid"},
        _products,
    ),
    "covering": Story(
        "Public services", "The city's ambulance service writes about new stations.",
        ("A station may be built at each of the sites, or not.",
         "Every district must be reached in time from at least one station; a row of the table says that a site "
         "reaches a district."),
        "We want the least total cost.",
        {"cost": ("site",), "reaches": ("site", "district")}, {"cost": "thousand EUR"},
        {"cost": "of a station", "reaches": "1 where the site reaches the district"},
        lambda data: {"cost": data["cost"], "reaches": _ones(data["reaches"])},
    ),
    "facility_location": Story(
        "Retail", "The head of logistics writes about warehouses to rent.",
        ("Each place may be rented for a month, or not.",
         "Every customer is served from exactly one rented warehouse, which may serve any number of customers."),
        "We want the least total cost a month, rent and delivery together.",
        {"rent": ("place",), "delivery": ("place", "customer")}, {"rent": "EUR", "delivery": "EUR"},
        {"rent": "a month", "delivery": "cost a month of serving the customer from the place"},
    ),
    "lot_sizing": Story(
        "Beverages", "The brewery's production manager writes about the coming months.",
        ("Each month's casks must be delivered in that month, out of what is brewed then or kept from before.",
         "In a month in which we brew at all, the vats are cleaned, whatever the amount.",
         "We start with an empty store, and any amount may be brewed in a month."),
        "We want the least total cost of cleaning, brewing and storing.",
        {"demand": ("month",), "setup": (), "unit": (), "storage": ()},
        {"demand": "casks", "setup": "EUR", "unit": "EUR", "storage": "EUR"},
        {"demand": "to be delivered in the month", "setup": "cleaning in a month with brewing",
         "unit": "brewing a cask", "storage": "keeping a cask from one month to the next"},
        lambda data: {**data, "demand": _numbered(data["demand"])},
    ),
    "cutting_stock": Story(
        "Paper", "The mill's cutting room writes about today's orders.",
        ("Rolls of one width are cut into narrower pieces; what is left of a roll is waste.",
         "Of each width at least the ordered number of pieces is delivered."),
        "We want to use as few rolls as possible.",
        {"roll": (), "demand": ("piece",)}, {"roll": "cm", "demand": "pieces"},
        {"roll": "width of a roll", "demand": "ordered; a piece is named by its width in cm"},
        lambda data: {"roll": data["roll"],
                      "demand": dict(zip((f"W{width}" for width in data["widths"]), data["demand"], strict=True))},
    ),
    "crew_scheduling": Story(
        "Aviation", "Crew planning writes about tomorrow's flights.",
        ("A row of the table says that a duty contains a flight.",
         "Duties are chosen such that every flight is in exactly one chosen duty."),
        "We want the least total cost of the chosen duties.",
        {"cost": ("duty",), "covers": ("duty", "flight")}, {"cost": "hundred EUR"},
        {"cost": "of a crew on the duty", "covers": "1 where the duty contains the flight"},
        lambda data: {"cost": {name: duty["cost"] for name, duty in data["duties"].items()},
                      "covers": _ones({name: duty["flights"] for name, duty in data["duties"].items()})},
    ),
    "largest_flow": Story(
        "Utilities", "The waterworks' control room writes about the network.",
        ("A pipe carries water in its own direction alone, and no more than its size allows.",
         "What flows into a station flows out of it, but at the first, N1, where water comes in, and at the last, the "
         "one with the highest number, where it is used."),
        "We want as much water as possible to reach the last station.",
        {"pipes": ("from", "to")}, {"pipes": "m3/min"}, {"pipes": "most that the pipe carries"},
        lambda data: {"pipes": data["pipes"]},
    ),
    "shortest_path": Story(
        "Logistics", "The courier desk writes about one ride.",
        ("Roads are one-way.", "The ride begins in N1 and ends in the town with the highest number."),
        "We want the shortest way.",
        {"roads": ("from", "to")}, {"roads": "km"}, {"roads": "length of the road"},
        lambda data: {"roads": data["roads"]},
    ),
    "setups": Story(
        "Printing", "The print shop's foreman writes about one press.",
        ("The press does the jobs one after the other, beginning at hour 0.",
         "Before each job it is set up, for as many hours as the table gives by the job before (start for the first) "
         "and the job itself.",
         "A job that ends after its due hour costs its weight for each hour that it is late; being early gains "
         "nothing."),
        "We want the least total cost of being late.",
        {"duration": ("job",), "due": ("job",), "weight": ("job",), "setup": ("before", "job")},
        {"duration": "h", "due": "h", "weight": "EUR", "setup": "h"},
        {"duration": "of the job", "due": "hour at which it is due", "weight": "cost of an hour late",
         "setup": "setting up between the two"},
    ),
    "investment": Story(
        "Finance", "The treasurer writes about the projects of the coming years.",
        ("Each project is taken up once, wholly or for any share of it; of a share, all payments are that share.",
         "What is paid in is negative, what comes back positive.",
         "Money that is not invested earns interest from one year to the next, and nothing can be borrowed."),
        "We want as much money as possible in the last year.",
        {"years": (), "cash": (), "interest": (), "flows": ("project", "year")},
        {"cash": "thousand EUR", "flows": "thousand EUR"},
        {"years": "number of the last year; the first is 0", "cash": "money in year 0", "interest": "per cent a year",
         "flows": "payment of the project in the year"},
        lambda data: {**data, "flows": {name: _numbered(values, 0) for name, values in data["flows"].items()}},
    ),
}  # fmt: skip
