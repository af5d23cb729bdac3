"""Plain hill climbing: a model is shown the best program and its figures, and writes the next one; no more than that."""

from oragent.search.prompting import program_request, show_program, task_messages
from oragent.search.strategies.asking import ask_for_program
from oragent.search.strategy import Strategy


async def play_round(run):
    """Ask for a better program than the best."""
    best = run.archive.best
    answer = run.fill_template("answer_code", run.style, **program_request(run), edits="")
    text = f"{show_program('The best program', best)}\n\nWrite a better one.\n\n{answer}"
    await ask_for_program(run, "code", task_messages(run, text), [best])


STRATEGY = Strategy(name="hill", round=play_round, islands=1, window=1, tuning=0.0)
