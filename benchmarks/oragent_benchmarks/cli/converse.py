"""Commands ``bench converse``, ``bench district`` and ``bench utilities``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from oragent._base.errors import ConfigError
from oragent._base.files import FolderKind, kind_of_folder
from oragent.cli.options import ModelWords, console, print_text, split_names, with_settings
from oragent.modelling.files.model_files import write
from oragent_benchmarks.cli.options import BenchFolder, ModelCalls, bench_workers
from oragent_benchmarks.converse.problems.registry import NAMES, PUBLISHED

# Options that do not change the plan of an evaluation. With these alone, the evaluation in --outputs continues. The
# file of a user's problem is read again.
CONTINUING = {"outputs", "workers", "words", "config", "calls", "yes"}


@dataclass(frozen=True)
class AgentOptions:
    """Options of the measured agents."""

    agents: Annotated[str, typer.Option(help="T-P-P, C-P-P, C-P-R, C-N-R, rules; with commas between.")] = "rules"
    paradigms: Annotated[str, typer.Option(help="default, one-shot, aware, conversation; with commas between.")] = (
        "conversation"
    )
    model: Annotated[str, typer.Option(help="Model name, or scripted for a stand-in.")] = ""
    models: Annotated[str, typer.Option(help="Several model names, with commas between.")] = ""
    tools: Annotated[str, typer.Option(help="paper,extended.")] = "paper"
    ablate: Annotated[str, typer.Option(help="Parts of the prompt to leave out, such as prompt.dialogue.")] = ""


@dataclass(frozen=True)
class DeciderOptions:
    """Options of the decision agents, who are the same for all measured agents."""

    styles: Annotated[str, typer.Option(help="vague,precise.")] = "vague,precise"
    feedback: Annotated[str, typer.Option(help="binary,rich.")] = "binary,rich"
    decider: Annotated[str, typer.Option(help="llm, rational or myopic.")] = "llm"
    decider_model: Annotated[
        str, typer.Option(help="Model of the decision agents (default: the first of --models).")
    ] = ""
    stopping: Annotated[str, typer.Option(help="threshold, behavioural or oracle.")] = "threshold"
    knowing: Annotated[str, typer.Option(help="How a decider knows its utility: tool, prompt, words.")] = "tool"
    preset: Annotated[str, typer.Option(help="paper: words are forbidden as published.")] = ""
    temperature: Annotated[float | None, typer.Option(min=0, max=2, help="Temperature of the agents.")] = None

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the benchmark; None means the default."""
        if self.preset not in ("", "paper"):
            raise ConfigError(f"{self.preset!r} is not a preset; expected paper")
        return {
            "styles": split_names(self.styles),
            "feedback": split_names(self.feedback),
            "decider": self.decider,
            "stopping": self.stopping,
            "knowing": self.knowing,
            "decider_model": self.decider_model or None,
            "temperature": self.temperature,
            "paper_words": True if self.preset == "paper" else None,
        }


@with_settings("chosen", AgentOptions)
@with_settings("deciders", DeciderOptions)
@with_settings("calls", ModelCalls)
def bench_converse(
    context: typer.Context,
    chosen: AgentOptions,
    deciders: DeciderOptions,
    calls: ModelCalls,
    words: ModelWords = None,
    questions: Annotated[
        Path | None, typer.Option(help="Folder of what-if questions; --agents gold, T-P-P or lines.")
    ] = None,
    problem: Annotated[
        str, typer.Option(help="District that can be enumerated, or a Python file that makes a problem.")
    ] = "sfusd",
    utilities: Annotated[str, typer.Option(help="all, paper, a number, or a file of them.")] = "all",
    seed: Annotated[int, typer.Option(min=0, help="Seed of utilities, roles and cases.")] = 0,
    workers: Annotated[int, bench_workers("Conversations")] = 2,
    replay: Annotated[Path | None, typer.Option(help="An evaluation's folder: repeat it with its replies.")] = None,
    outputs: BenchFolder = Path("outputs/converse-bench"),
) -> None:
    """Measure agents over whole conversations with simulated stakeholders."""
    from oragent_benchmarks.converse.command import ConverseBenchRequest, run_bench
    from oragent_benchmarks.converse.evaluable_problems import read_problem_file

    if questions is not None:
        from oragent_benchmarks.converse.whatif.run_questions import bench_questions

        runtime = calls.name_settings(words, **{"model.name": chosen.model or None})
        raise typer.Exit(bench_questions(questions, chosen.agents, runtime, outputs, console, workers))
    sources = {name: context.get_parameter_source(name) for name in context.params}
    # By name, because some versions of typer contain a copy of click.
    named = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    is_own = problem.endswith(".py")
    changing = set(named) - CONTINUING - ({"problem"} if is_own else set())
    is_continued = not changing and kind_of_folder(outputs) is FolderKind.CONVERSE_BENCH
    common: dict[str, Any] = {"workers": workers, "words": calls.name_settings(words), "confirm": calls.confirm}
    if is_continued:
        own_problem = read_problem_file(Path(problem)) if is_own else ""
        raise typer.Exit(run_bench(ConverseBenchRequest(outputs, own_problem, is_continued=True, **common), console))
    request = ConverseBenchRequest(
        outputs=outputs,
        problem=read_problem_file(Path(problem)) if is_own else problem,
        agents=split_names(chosen.agents),
        paradigms=split_names(chosen.paradigms),
        models=[*split_names(chosen.model), *split_names(chosen.models)],
        tools=split_names(chosen.tools),
        ablate=split_names(chosen.ablate),
        utilities=utilities,
        settings=deciders.settings | calls.reply_limits,
        seed=seed,
        replay=replay,
        **common,
    )
    raise typer.Exit(run_bench(request, console))


def write_utilities(
    problem: Annotated[str, typer.Argument(help=f"{NAMES}; a district that can be enumerated.")] = PUBLISHED,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("utilities.json"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of utilities.")] = 0,
    functions: Annotated[int, typer.Option(min=0, help="Number of random utilities to draw instead.")] = 0,
) -> None:
    """Write the utilities of simulated stakeholders, for --utilities of 'bench converse'."""
    from oragent_benchmarks.converse.evaluable_problems import generate_utilities

    generate_utilities(problem, out, seed, functions, console)


def write_district(
    problem: Annotated[str, typer.Argument(help=f"{NAMES}.")] = PUBLISHED,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("schools.json"),
) -> None:
    """Write the model of a school district, which 'oragent converse' explores."""
    from oragent_benchmarks.converse.problems.registry import open_named_model

    write(open_named_model(problem), out)
    print_text(f"oragent converse {out}")
