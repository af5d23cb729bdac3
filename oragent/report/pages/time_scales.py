"""Clock times and dates of values that count time units from an origin, such as ``minutes since 08:00``."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

# Minutes of a unit, by its first letter.
MINUTES = {"s": 1 / 60, "m": 1.0, "h": 60.0, "d": 1440.0, "w": 10080.0}
UNIT = re.compile(
    r"(?i)(?<![^\W\d_])(?:(?P<size>\d+(?:\.\d+)?|half|quarter)[- ]*)?"
    r"(?P<unit>seconds?|secs?|minutes?|mins?|hours?|days?|weeks?|[smhdw])(?:[- ](?:slots?|steps?|periods?))?"
    r"\s+(?:since|from|after)\s+(?P<origin>.+)"
)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
CLOCK = re.compile(r"(?<!\d)([01]?\d|2[0-3])[:.h]([0-5]\d)(?!\d)")
SIZES = {"half": 0.5, "quarter": 0.25}
# Largest distance from the origin, in minutes.
MAX_MINUTES = 1e8


@dataclass(frozen=True)
class TimeScale:
    """Origin and unit of a time."""

    origin: datetime
    # Minutes of one unit.
    minutes: float
    has_date: bool

    def text(self, value: float) -> str:
        """Return the clock time of a value; empty if it is too far from the origin, or outside the years 1 to 9999.

        With a date, it is in front. Without one, ``+1 d`` follows for each day after the first.
        """
        if not abs(value * self.minutes) <= MAX_MINUTES:
            return ""
        # Whole seconds, because values of a solver are inexact.
        try:
            moment = self.origin + timedelta(seconds=round(60 * value * self.minutes))
        except OverflowError:
            return ""
        form = "%H:%M:%S" if moment.second else "%H:%M"
        if self.has_date:
            is_day = self.minutes % 1440 == 0 and not (self.origin.hour or self.origin.minute)
            # A year before 1000 has four digits only in this form.
            day = moment.date().isoformat()
            return day if is_day else f"{day} {moment.strftime(form)}"
        days = (moment.date() - self.origin.date()).days
        return moment.strftime(form) + (f" {days:+d} d" if days else "")


def read_time_scale(unit: str) -> TimeScale | None:
    """Return the scale of a unit such as ``15-minute slots since 2026-03-02 08:00``; None for other units."""
    match = UNIT.search(" ".join(unit.split()))
    if match is None:
        return None
    date, clock = DATE.search(match["origin"]), CLOCK.search(match["origin"])
    if date is None and clock is None:
        return None
    size = match["size"] or "1"
    try:
        day = datetime.fromisoformat(date[0]) if date is not None else datetime(2000, 1, 1)
    except ValueError:
        return None
    hour, minute = (int(clock[1]), int(clock[2])) if clock is not None else (0, 0)
    minutes = MINUTES[match["unit"][0].lower()] * (SIZES.get(size.lower()) or float(size))
    return TimeScale(day + timedelta(hours=hour, minutes=minute), minutes, date is not None)
