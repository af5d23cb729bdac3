"""Weekly rosters of care homes with blocks of five days, and agency staff."""

from itertools import product
from typing import Any

import numpy as np

from oragent_benchmarks.workspace.generating.domain import (
    CleanData,
    Figures,
    Key,
    Sets,
    choose,
    draw_figures,
    read_lists,
)

NAMES, PARAMETERS = read_lists("rostering")
DAYS, SHIFTS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"), ("early", "late")
HOMES = [f"{tree} {kind}" for kind in ("House", "Court") for tree in NAMES]


def draw(rng: np.random.Generator, size: tuple[int, ...]) -> CleanData:
    """Draw homes with needs that are lower at weekends."""
    homes = tuple(HOMES[: size[0]])
    scale = {home: rng.uniform(0.8, 2.2) for home in homes}
    need: dict[Key, float] = {
        (home, day, shift): float(
            max(
                1,
                round(
                    scale[home]
                    * rng.uniform(3, 6)
                    * (0.7 if day in DAYS[5:] else 1.0)
                    * (1 if shift == "early" else 0.8)
                ),
            )
        )
        for home, day, shift in product(homes, DAYS, SHIFTS)
    }
    total = {home: sum(figure for key, figure in need.items() if key[0] == home) for home in homes}
    wage = draw_figures(rng, [homes, SHIFTS], 540, 680, 5)
    values: Figures = {
        "need": need,
        "crew": {(home,): float(round(total[home] / 5 * rng.uniform(0.95, 1.1))) for home in homes},
        "wage": wage,
        "fee": draw_figures(rng, [SHIFTS], 180, 240, 5),
        "pool": {(): float(round(0.25 * sum(total.values())))},
    }
    return CleanData({"home": homes, "day": DAYS, "shift": SHIFTS}, values)


def add_rules(problem: Any, sets: Sets, data: Figures) -> Any:
    """Add the rules of a week that repeats. Blocks of staff are indexed by their first day."""
    import pulp

    homes, days, keys = sets["home"], sets["day"], list(product(sets["home"], sets["day"], sets["shift"]))
    staff = pulp.LpVariable.dicts("staff", keys, 0, cat="Integer")
    temp = pulp.LpVariable.dicts("temp", keys, 0, cat="Integer")
    for home, day, shift in keys:
        starts = [days[days.index(day) - back] for back in range(5)]
        present = pulp.lpSum(staff[home, start, shift] for start in starts) + temp[home, day, shift]
        problem += present >= data["need"][home, day, shift], f"cover_{home}_{day}_{shift}"
    for home in homes:
        blocks = pulp.lpSum(staff[key] for key in keys if key[0] == home)
        problem += blocks <= data["crew"][home,], f"team_{home}"
    problem += pulp.lpSum(temp.values()) <= data["pool"][()], "agency"
    cost = [data["wage"][home, shift] * staff[home, day, shift] for home, day, shift in keys]
    cost += [data["fee"][shift,] * temp[home, day, shift] for home, day, shift in keys]
    return {"staff": staff, "temp": temp}, cost


def draw_words(rng: np.random.Generator, data: CleanData) -> dict[str, object]:
    """Draw names and figures of changes and questions."""
    home, other = choose(rng, data.sets["home"], 2)
    day, shift = choose(rng, DAYS[:5])[0], choose(rng, SHIFTS)[0]
    need = data.values["need"]
    return {
        "home": home, "other": other, "day": day, "shift": shift,
        "most": int(rng.integers(2, 5)),
        "half": round(0.8 * sum(need[home, "Sun", name] for name in SHIFTS)),
        "lead": int(rng.integers(3, 8)),
        "extra": int(rng.integers(5, 12) * 10),
        "more": need[home, day, shift] + 5,
        "fewer": round(data.values["crew"][other,] * 0.75),
        "dear": data.values["fee"]["late",] + 80,
        "pool": round(data.values["pool"][()] * 0.4),
    }  # fmt: skip
