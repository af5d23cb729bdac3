"""What is told of schools: the text files of ``problems/prompts``."""

from oragent.converse.problems.constraints import STUDENTS_A_UNIT
from oragent.converse.problems.district import District, clock
from oragent.converse.problems.tables import render
from oragent.converse.prompting import fill_template


def told(template: str, **values: object) -> str:
    """Fill a text about schools, by its name."""
    return fill_template(template, "problems/prompts", **values)


def setting(district: District, schedule: str) -> str:
    """What an optimisation agent is told of a district, its model, and the schedule that is proposed."""
    features = district.features(schedule)
    return told(
        "setting_schools", count=len(district.schools), times=_times(district), table=render(district, schedule),
        load=f"{features.load / STUDENTS_A_UNIT:g}", deviation=f"{features.deviation:g}",
    )  # fmt: skip


def known(district: District, schedule: str) -> str:
    """What a decision agent knows: schools, times and both objectives, but no model."""
    return told("known_schools", times=_times(district), table=render(district, schedule))


def _times(district: District) -> str:
    return ", ".join(map(clock, district.times))
