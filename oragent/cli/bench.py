"""Group of commands ``bench``."""

import typer

from oragent.cli import agents, converse, formulate, workspace

bench = typer.Typer(no_args_is_help=True, help="Measure systems on sets of problems.")
bench.command(name="formulate")(formulate.bench_formulate)
bench.command(name="converse")(converse.bench_converse)
bench.command(name="workspace")(workspace.bench_workspace)
bench.command(name="skills")(agents.bench_skills)
