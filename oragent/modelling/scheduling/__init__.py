"""Files of schedules: read, solve, explain and write them. ``schedule_model`` holds the model."""

from oragent.modelling.scheduling.command import ScheduleRequest, solve_schedule_file
from oragent.modelling.scheduling.files import is_schedule, read_schedule, write_schedule

__all__ = ["ScheduleRequest", "is_schedule", "read_schedule", "solve_schedule_file", "write_schedule"]
