"""Command ``bench skills``."""

from pathlib import Path
from typing import Annotated

import typer

from oragent.api.skills import list_skills
from oragent.cli.options import console, split_names
from oragent_benchmarks.cli.options import BenchFolder, bench_workers


def bench_skills(
    agent: Annotated[
        str, typer.Option(help="Command of a coding agent; it reads a request from standard input, in a new folder.")
    ] = "",
    agent_settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            help="What the agent gets besides its folder, as for the strategy 'agent', such as "
            "'variables=[ANTHROPIC_API_KEY]', 'writable=[~/.claude]', ports=null or confined=false.",
        ),
    ] = [],  # noqa: B006
    names: Annotated[str, typer.Option("--skills", help="Names of skills, with commas between (default: all).")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each task.")] = 1,
    seconds: Annotated[float, typer.Option(min=1.0, help="Seconds of a task.")] = 600.0,
    workers: Annotated[int, bench_workers("Tasks")] = 1,
    outputs: BenchFolder = Path("outputs/skills-bench"),
) -> None:
    """Measure how many tasks an agent solves with and without each skill; --outputs alone continues."""
    from oragent_benchmarks.skills.command import SkillsBenchRequest, run_bench

    request = SkillsBenchRequest(
        outputs,
        agent=agent,
        agent_settings=agent_settings,
        skills=split_names(names),
        texts={skill.name: skill.text for skill in list_skills()},
        seeds=seeds,
        seconds=seconds,
        workers=workers,
    )
    raise typer.Exit(run_bench(request, console))
