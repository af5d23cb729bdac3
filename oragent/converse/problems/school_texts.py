"""What is told of schools: the text files of ``problems/prompts``."""

from oragent.converse.problems.constraints import STUDENTS_A_UNIT
from oragent.converse.problems.district import District, format_clock
from oragent.converse.problems.tables import render_schedule
from oragent.converse.prompting import fill_template


def fill_text(template: str, **values: object) -> str:
    """Fill a text about schools, by its name."""
    return fill_template(template, "problems/prompts", **values)


def setting_text(district: District, schedule: str) -> str:
    """Describe a district, its model and the proposed schedule to an optimisation agent."""
    features = district.features(schedule)
    return fill_text(
        "setting_schools",
        count=len(district.schools),
        times=_list_times(district),
        table=render_schedule(district, schedule),
        load=f"{features.load / STUDENTS_A_UNIT:g}",
        deviation=f"{features.deviation:g}",
    )


def known_text(district: District, schedule: str) -> str:
    """Describe schools, times and both objectives to a decision agent, without the model."""
    return fill_text("known_schools", times=_list_times(district), table=render_schedule(district, schedule))


def _list_times(district: District) -> str:
    return ", ".join(map(format_clock, district.times))
