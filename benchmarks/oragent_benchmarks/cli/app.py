"""Group of commands ``bench``."""

import typer

from oragent_benchmarks.cli.converse import bench_converse, write_district, write_utilities
from oragent_benchmarks.cli.formulate import bench_formulate
from oragent_benchmarks.cli.search import figure, study
from oragent_benchmarks.cli.skills import bench_skills
from oragent_benchmarks.cli.training import train
from oragent_benchmarks.cli.workspace import bench_workspace

bench = typer.Typer(no_args_is_help=True, help="Measure systems on sets of problems, and repeat studies.")
bench.command(name="formulate")(bench_formulate)
bench.command(name="converse")(bench_converse)
bench.command(name="district")(write_district)
bench.command(name="utilities")(write_utilities)
bench.command(name="workspace")(bench_workspace)
bench.command(name="skills")(bench_skills)
bench.command(name="study")(study)
bench.command(name="figure")(figure)
bench.command(name="train")(train)
