"""Optimisation by conversation: ``converse`` and ``bench converse``."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from oragent._base.errors import ConfigError
from oragent.cli.formulate import bench
from oragent.cli.options import ModelFile, ModelWords, Trust, bench_workers, console
from oragent.llm.runtime_settings import RuntimeWords

UTILITIES_OF = "sfusd"  # whose utilities are published


def shown(folder: Path) -> bool:
    """Show a conversation; False where the folder is none."""
    if not (folder / "converse.json").is_file():
        return False
    raise typer.Exit(import_module("oragent.converse.command").show(folder, console))


def page(folder: Path) -> bool:
    """Write the page of a conversation anew; False where the folder is none."""
    if not (folder / "converse.json").is_file():
        return False
    written = import_module("oragent.converse.command").page(folder)
    console.print(f"report: {written}", highlight=False, soft_wrap=True)
    return True


def converse(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="sfusd, district:N:TIMES[:SEED], a model's file or folder, a "
            "conversation's folder; or 'utilities' to write a set of them.",
        ),
    ],
    settings: ModelWords = None,
    config: ModelFile = None,
    agent: Annotated[str, typer.Option(help="rules, T-P-P, C-P-P, C-P-R or C-N-R.")] = "rules",
    model: Annotated[str, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")] = "",
    tools: Annotated[str, typer.Option(help="extended or paper.")] = "extended",
    web: Annotated[bool, typer.Option("--web", help="A page on this machine in place of the terminal.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the page; 0: any that is free.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of utilities.")] = 0,
    out: Annotated[Path | None, typer.Option(help="File for utilities.")] = None,
    functions: Annotated[int, typer.Option(min=0, help="Draw so many random utilities instead.")] = 0,
    calls: Annotated[int | None, typer.Option(min=1, help="Budget: calls of the model.")] = None,
    trust: Trust = False,
    outputs: Annotated[Path, typer.Option(help="Where folders go.")] = Path("outputs/converse"),
) -> None:
    """Explore an optimisation model by conversation, with answers that are proven."""
    if problem == "utilities":
        if out is None:
            raise ConfigError("name a file for the utilities with --out")
        utilities = import_module("oragent.evals.converse.utilities_command").utilities
        raise typer.Exit(utilities(UTILITIES_OF, out, seed, functions, console))
    command = import_module("oragent.converse.command")  # solver and statistics take long to import
    folder = Path(problem)
    runtime = RuntimeWords(tuple(settings or ()), {"model.name": model or None, "budget.model_calls": calls}, config)
    if not (folder / "converse.json").is_file():
        sessions = import_module("oragent.converse.session")
        asked, trust = runtime.read(sessions.MODEL_ROLES), True
        folder = sessions.begin(outputs, sessions.ConversationRequest(problem, agent, tools, asked))
    session = command.trusted_session(folder, runtime, trust)
    if web:
        raise typer.Exit(import_module("oragent.converse.web").serve(session, console, port))
    raise typer.Exit(command.go_on(session, console))


@bench.command(name="converse")
def bench_converse(
    words: ModelWords = None,
    config: ModelFile = None,
    problem: Annotated[str, typer.Option(help="District that can be enumerated; empty: that of --outputs.")] = "sfusd",
    agents: Annotated[str, typer.Option(help="T-P-P,C-P-P,C-P-R,C-N-R,rules; for --whatif also gold.")] = "rules",
    paradigms: Annotated[str, typer.Option(help="default,one-shot,aware,conversation.")] = "conversation",
    styles: Annotated[str, typer.Option(help="vague,precise.")] = "vague,precise",
    feedback: Annotated[str, typer.Option(help="binary,rich.")] = "binary,rich",
    utilities: Annotated[str, typer.Option(help="all, paper, a number, or a file of them.")] = "all",
    decider: Annotated[str, typer.Option(help="llm, rational or myopic.")] = "llm",
    decider_model: Annotated[str, typer.Option(help="Of the decision agents; default: the first of --models.")] = "",
    model: Annotated[str, typer.Option(help="Model name, or scripted for a stand-in.")] = "",
    models: Annotated[str, typer.Option(help="Several model names, with commas between.")] = "",
    tools: Annotated[str, typer.Option(help="paper,extended.")] = "paper",
    ablate: Annotated[str, typer.Option(help="Parts of the prompt to leave out, such as prompt.dialogue.")] = "",
    stopping: Annotated[str, typer.Option(help="threshold, behavioural or oracle.")] = "threshold",
    knowing: Annotated[str, typer.Option(help="By which a decider knows its utility: tool, prompt, words.")] = "tool",
    preset: Annotated[str, typer.Option(help="paper: words are forbidden as published.")] = "",
    temperature: Annotated[float | None, typer.Option(min=0, max=2, help="Of the agents.")] = None,
    reply_tokens: Annotated[int | None, typer.Option(min=1, help="Longest reply, in tokens.")] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout-s", "--timeout", min=1, help="Seconds for a reply (default: 120).")
    ] = None,
    whatif: Annotated[Path | None, typer.Option(help="Folder of what-if questions, in place of conversations.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of utilities, roles and cases.")] = 0,
    workers: Annotated[int, bench_workers("Conversations")] = 2,
    replay: Annotated[Path | None, typer.Option(help="An evaluation's folder: again with its replies.")] = None,
    calls: Annotated[int | None, typer.Option(min=1, help="Budget: calls of models, a contestant.")] = None,
    outputs: Annotated[Path, typer.Option(help="Of the evaluation; begun ones are gone on with.")] = Path(
        "outputs/converse-bench"
    ),
) -> None:
    """Measure agents over whole conversations with simulated stakeholders, or on what-if questions."""
    asked = [*_names(model), *_names(models)]
    if whatif is not None:
        command = import_module("oragent.evals.converse.whatif.command")
        raise typer.Exit(command.run_whatif(whatif, _names(agents), asked, outputs, workers, console))
    command = import_module("oragent.evals.converse.command")
    settings = {
        "styles": _names(styles), "feedback": _names(feedback), "decider": decider, "stopping": stopping,
        "knowing": knowing, "decider_model": decider_model or None, "temperature": temperature,
        "timeout_s": timeout, "max_tokens": reply_tokens, "paper_words": True if preset == "paper" else None,
    }  # fmt: skip
    if preset not in ("", "paper"):
        raise ConfigError(f"{preset!r} is no preset; expected paper")
    request = command.ConverseBenchRequest(
        outputs, problem, _names(agents), _names(paradigms), asked, _names(tools), _names(ablate), utilities, settings,
        seed, workers, calls, replay, RuntimeWords(tuple(words or ()), config=config),
    )  # fmt: skip
    raise typer.Exit(command.run_bench(request, console))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
