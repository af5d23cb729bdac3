"""The task of ``resume_play.py`` in a module of its own, which the processes of EoH import."""

from eoh import BaseProblem
from resume_play import SCORE, SEED, TASK


class Task(BaseProblem):
    """A tour of 50 cities, built city by city."""

    template_program = SEED
    task_description = TASK

    def evaluate_program(self, program_str, callable_func):
        names = {}
        exec(SCORE, names)
        return names["score"](callable_func, program_str)
