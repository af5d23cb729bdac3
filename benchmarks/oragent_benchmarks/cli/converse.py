"""Commands ``bench converse``, ``bench district`` and ``bench utilities``."""

from pathlib import Path
from typing import Annotated

import typer

from oragent._base.errors import ConfigError
from oragent._base.files import FolderKind, kind_of_folder
from oragent.cli.options import ModelFile, ModelWords, ReplySeconds, ReplyTokens, console, print_text, split_names
from oragent.cli.spending import Yes, make_confirm
from oragent.llm.model_settings import RuntimeWords
from oragent.modelling.files.indexed_files import write_indexed
from oragent_benchmarks.cli.options import BenchCalls, BenchFolder, bench_workers
from oragent_benchmarks.converse.problems.registry import NAMES, PUBLISHED

# Options that do not change the plan of an evaluation. With these alone, the evaluation in --outputs continues. The
# file of a user's problem is read again.
CONTINUING = {"outputs", "workers", "words", "config", "calls"}


def bench_converse(
    context: typer.Context,
    words: ModelWords = None,
    config: ModelFile = None,
    questions: Annotated[
        Path | None, typer.Option(help="Folder of what-if questions; --agents gold, T-P-P or lines.")
    ] = None,
    problem: Annotated[
        str, typer.Option(help="District that can be enumerated, or a Python file that makes a problem.")
    ] = "sfusd",
    agents: Annotated[str, typer.Option(help="T-P-P, C-P-P, C-P-R, C-N-R, rules; with commas between.")] = "rules",
    paradigms: Annotated[
        str, typer.Option(help="default, one-shot, aware, conversation; with commas between.")
    ] = "conversation",
    styles: Annotated[str, typer.Option(help="vague,precise.")] = "vague,precise",
    feedback: Annotated[str, typer.Option(help="binary,rich.")] = "binary,rich",
    utilities: Annotated[str, typer.Option(help="all, paper, a number, or a file of them.")] = "all",
    decider: Annotated[str, typer.Option(help="llm, rational or myopic.")] = "llm",
    decider_model: Annotated[
        str, typer.Option(help="Model of the decision agents (default: the first of --models).")
    ] = "",
    model: Annotated[str, typer.Option(help="Model name, or scripted for a stand-in.")] = "",
    models: Annotated[str, typer.Option(help="Several model names, with commas between.")] = "",
    tools: Annotated[str, typer.Option(help="paper,extended.")] = "paper",
    ablate: Annotated[str, typer.Option(help="Parts of the prompt to leave out, such as prompt.dialogue.")] = "",
    stopping: Annotated[str, typer.Option(help="threshold, behavioural or oracle.")] = "threshold",
    knowing: Annotated[str, typer.Option(help="How a decider knows its utility: tool, prompt, words.")] = "tool",
    preset: Annotated[str, typer.Option(help="paper: words are forbidden as published.")] = "",
    temperature: Annotated[float | None, typer.Option(min=0, max=2, help="Temperature of the agents.")] = None,
    reply_tokens: ReplyTokens = None,
    timeout_s: ReplySeconds = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of utilities, roles and cases.")] = 0,
    workers: Annotated[int, bench_workers("Conversations")] = 2,
    replay: Annotated[Path | None, typer.Option(help="An evaluation's folder: repeat it with its replies.")] = None,
    calls: BenchCalls = None,
    outputs: BenchFolder = Path("outputs/converse-bench"),
    yes: Yes = False,
) -> None:
    """Measure agents over whole conversations with simulated stakeholders."""
    from oragent_benchmarks.converse.command import ConverseBenchRequest, run_bench
    from oragent_benchmarks.converse.evaluable_problems import read_problem_file

    if questions is not None:
        from oragent_benchmarks.converse.whatif.run_questions import bench_questions

        names = {"model.name": model or None, "budget.model_calls": calls}
        raise typer.Exit(
            bench_questions(
                questions, agents, RuntimeWords(tuple(words or ()), names, config), outputs, console, workers
            )
        )
    sources = {name: context.get_parameter_source(name) for name in context.params}
    # By name, because some versions of typer contain a copy of click.
    chosen = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    is_own = problem.endswith(".py")
    changing = set(chosen) - CONTINUING - ({"problem"} if is_own else set())
    is_continued = not changing and kind_of_folder(outputs) is FolderKind.CONVERSE_BENCH
    if is_continued:
        again = RuntimeWords(tuple(words or ()), {"budget.model_calls": calls}, config)
        own_problem = read_problem_file(Path(problem)) if is_own else ""
        request = ConverseBenchRequest(
            outputs, own_problem, workers=workers, words=again, is_continued=True, confirm=make_confirm(yes=yes)
        )
        raise typer.Exit(run_bench(request, console))
    model_names = [*split_names(model), *split_names(models)]
    bench_words = RuntimeWords(tuple(words or ()), {"budget.model_calls": calls}, config)
    settings = {
        "styles": split_names(styles),
        "feedback": split_names(feedback),
        "decider": decider,
        "stopping": stopping,
        "knowing": knowing,
        "decider_model": decider_model or None,
        "temperature": temperature,
        "timeout_s": timeout_s,
        "max_tokens": reply_tokens,
        "paper_words": True if preset == "paper" else None,
    }
    if preset not in ("", "paper"):
        raise ConfigError(f"{preset!r} is not a preset; expected paper")
    request = ConverseBenchRequest(
        outputs=outputs,
        problem=read_problem_file(Path(problem)) if problem.endswith(".py") else problem,
        agents=split_names(agents),
        paradigms=split_names(paradigms),
        models=model_names,
        tools=split_names(tools),
        ablate=split_names(ablate),
        utilities=utilities,
        settings=settings,
        seed=seed,
        replay=replay,
        workers=workers,
        words=bench_words,
        confirm=make_confirm(yes=yes),
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

    write_indexed(open_named_model(problem), out)
    print_text(f"oragent converse {out}")
