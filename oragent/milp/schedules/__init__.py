"""Schedules as files: read, solve, explain and write them. The model is in ``oragent.milp.scheduling``."""

from oragent.milp.schedules.command import ScheduleRequest, solve_schedule_file
from oragent.milp.schedules.files import is_schedule, read_schedule, write_schedule

__all__ = ["ScheduleRequest", "is_schedule", "read_schedule", "solve_schedule_file", "write_schedule"]
