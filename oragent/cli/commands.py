"""Table of all commands: group in the help, module, and line of the help. A command is imported when it is used."""

from dataclasses import dataclass

# Titles of the groups of commands in the help, in their order.
SEARCH = "Search for heuristics"
MODELS = "Formulate, solve and explore models"
WORKSPACE = "Models in folders"
OTHERS = "Everything else"
PANELS = (SEARCH, MODELS, WORKSPACE, OTHERS)


@dataclass(frozen=True)
class CommandEntry:
    """Command or group of commands of ``oragent``."""

    name: str
    # Title of its group in the help.
    panel: str
    # Module in ``oragent.cli``, and the function or typer group in it.
    module: str
    attribute: str
    # First paragraph of its help.
    help: str
    # True if the command also takes options of an evaluator.
    takes_further_options: bool = False


COMMANDS = (
    CommandEntry(
        "problems", SEARCH, "problems", "problems", "List the problems of the project and of the package, or copy one."
    ),
    CommandEntry("run", SEARCH, "search", "run", "Search for a better heuristic."),
    CommandEntry(
        "resume",
        SEARCH,
        "search",
        "resume",
        "Continue a run that was stopped or killed, or give a finished run more budget (budget.evaluations=500).",
    ),
    CommandEntry(
        "show", SEARCH, "runs", "show_run", "Show a run: best program, its difference from the seed, archive, failures."
    ),
    CommandEntry(
        "report",
        SEARCH,
        "runs",
        "report",
        "Write the report of a run, one HTML file; exit code 1 if the check fails or a protected set is lost.",
    ),
    CommandEntry("watch", SEARCH, "runs", "watch", "Show searches on a live page."),
    CommandEntry("steer", SEARCH, "runs", "steer", "Act on a running search."),
    CommandEntry(
        "compare",
        SEARCH,
        "search",
        "compare_strategies",
        "Compare strategies on problems, with several seeds and one budget; --outputs alone continues a comparison.",
    ),
    CommandEntry(
        "duel",
        SEARCH,
        "search",
        "duel",
        "Decide which of two programs is better, on paired instances until it is above the noise; exit code 3 if open.",
    ),
    CommandEntry("new", SEARCH, "problems", "new", "Create the folder of a new problem, which works at once."),
    CommandEntry("check", SEARCH, "problems", "check", "Check that the folder of a problem meets the contract."),
    CommandEntry(
        "discovered",
        SEARCH,
        "problems",
        "discovered",
        "List the discovered programs of the package, with the evidence for each.",
    ),
    CommandEntry(
        "import-task",
        SEARCH,
        "problems",
        "import_task",
        "Convert a task of another framework, score its seed, and list what could not be converted.",
    ),
    CommandEntry(
        "import-suite",
        SEARCH,
        "problems",
        "import_suite",
        "Convert all tasks of a folder, and print which candidates cannot forge their scores.",
    ),
    CommandEntry(
        "export-task",
        SEARCH,
        "problems",
        "export_task",
        "Make a task for another framework from a problem; its evaluator calls oragent.",
    ),
    CommandEntry(
        "eval",
        SEARCH,
        "problems",
        "evaluate_candidate",
        "Score one heuristic in the sandbox, as a search does; options of the evaluator are allowed.",
        takes_further_options=True,
    ),
    CommandEntry(
        "probe",
        SEARCH,
        "experiments",
        "probe",
        "Run one program on training or practice instances: score, calls and CPU seconds by size, and what it prints.",
    ),
    CommandEntry(
        "sweep",
        SEARCH,
        "experiments",
        "sweep",
        "Run a program, or a reference, with several values of its parameters on training or practice instances.",
    ),
    CommandEntry(
        "rescore",
        SEARCH,
        "runs",
        "rescore",
        "Score a run's seed and best programs on the present problem; the run does not change.",
    ),
    CommandEntry(
        "harden",
        SEARCH,
        "runs",
        "harden",
        "Test a program with sizes 0, 1, 2, half and twice, ties, zeros and infeasible data; exit code 1 if it fails.",
    ),
    CommandEntry(
        "memory",
        SEARCH,
        "runs",
        "memory",
        "Store, show and edit lessons by families of problems; --start memory begins a run with them.",
    ),
    CommandEntry(
        "formulate",
        MODELS,
        "formulate",
        "formulate",
        "Turn a problem in words into a checked model; exit code 3 no answer, 4 contradicted, 5 unchecked, 6 disputed.",
    ),
    CommandEntry(
        "verify",
        MODELS,
        "formulate",
        "verify",
        "Check a given model against the text of its problem; exit code 4 contradicted, 5 unchecked.",
    ),
    CommandEntry(
        "rerun",
        MODELS,
        "formulate",
        "rerun",
        "Apply the program and the checker of a formulation to new data, without a model; compare both plans.",
    ),
    CommandEntry(
        "solve",
        MODELS,
        "model",
        "solve",
        "Solve an optimisation model or a schedule and explain its solution; exit code 3 if there is none.",
    ),
    CommandEntry(
        "model",
        MODELS,
        "model",
        "model",
        "Ask and change an optimisation model line by line: `whatif demand[*, wk3..wk5] *= 1.05`.",
    ),
    CommandEntry(
        "convert",
        MODELS,
        "convert",
        "convert",
        "Write a model in another form: a file, or the source of a program for a modelling library.",
    ),
    CommandEntry(
        "converse",
        MODELS,
        "converse",
        "converse",
        "Explore an optimisation model by conversation; a solver proves the answers.",
    ),
    CommandEntry(
        "workspace", WORKSPACE, "workspace", "workspace", "Build, revise and explain models in folders, with versions."
    ),
    CommandEntry(
        "doctor",
        OTHERS,
        "machine",
        "doctor",
        "Report isolation and solvers on this machine; exit code 1 if a part of the isolation is missing.",
    ),
    CommandEntry(
        "settings", OTHERS, "machine", "settings", "Print every setting with its default, as a file for --config."
    ),
    CommandEntry(
        "prompts", OTHERS, "machine", "prompts", "List the prompts of searches, print one, or copy all to change them."
    ),
    CommandEntry(
        "mcp",
        OTHERS,
        "agents",
        "mcp",
        "Serve coding agents by the Model Context Protocol: over stdio, or HTTP on this machine.",
    ),
    CommandEntry("bench", OTHERS, "benchmarks", "bench", "Measure systems on sets of problems, and repeat studies."),
    CommandEntry("skills", OTHERS, "agents", "skills", "Instructions for coding agents."),
)
