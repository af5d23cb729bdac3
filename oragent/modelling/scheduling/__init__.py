"""Files of schedules: read, solve, explain and write them. ``schedule_model`` holds the model."""

from typing import TYPE_CHECKING

from oragent._base.lazy_names import import_on_use

if TYPE_CHECKING:
    from oragent.modelling.scheduling.command import ScheduleRequest as ScheduleRequest
    from oragent.modelling.scheduling.command import solve_schedule_file as solve_schedule_file
    from oragent.modelling.scheduling.files import read_schedule as read_schedule
    from oragent.modelling.scheduling.files import write_schedule as write_schedule

__all__ = ["ScheduleRequest", "read_schedule", "solve_schedule_file", "write_schedule"]

_MODULES = {
    "ScheduleRequest": "oragent.modelling.scheduling.command",
    "read_schedule": "oragent.modelling.scheduling.files",
    "solve_schedule_file": "oragent.modelling.scheduling.command",
    "write_schedule": "oragent.modelling.scheduling.files",
}
__getattr__ = import_on_use(__name__, _MODULES)
