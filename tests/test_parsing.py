"""Where a text is parsed is a table: what strangers wrote is read in the child of ``programs.parser_client``, or by name here."""

from collections import Counter
from pathlib import Path

from tests.sources import BENCHMARK_SOURCES, BENCHMARKS, PACKAGE, SOURCES, source

PARSERS = {
    "ast.parse", "ast.literal_eval", "ast.unparse", "compile", "eval", "exec", "json.loads", "json.load",
    "literal_eval", "unparse", "tokenize.tokenize", "symtable.symtable", "pickle.loads", "pickle.load", "yaml.load",
    "yaml.safe_load",
}  # fmt: skip
METHODS = {"raw_decode", "generate_tokens", "tree_of", "validate_json"}
CHILD = "in the child with limits"
PASSED = "of trees and programs that the child has passed, and of our own making"
SANDBOX = "in the sandbox"
OURS = "what this process, or a child of ours that reads no text of strangers, wrote"
USER = "a file or a function of the user's own"
BOUNDED = "JSON, whose reader takes time by the length of the text, which is bounded; nesting ends in an error"

# How often each file calls a parser, and why it may.
SITES = {
    "_base/ast_utils.py": ({"ast.parse": 1}, f"{CHILD}, or {PASSED}"),
    "programs/syntax.py": ({"tree_of": 1, "ast.unparse": 3, "compile": 1}, f"{CHILD}, or {PASSED}"),
    "programs/similarity.py": ({"tree_of": 2}, CHILD),
    "programs/helper_functions.py": ({"ast.unparse": 1}, PASSED),
    "programs/number_arguments.py": ({"ast.unparse": 1}, PASSED),
    "programs/parameters.py": ({"generate_tokens": 1}, PASSED),
    "programs/regions.py": ({"ast.unparse": 1}, f"{CHILD}, or {PASSED}"),
    "programs/extract.py": ({"raw_decode": 1, "ast.parse": 1}, CHILD),
    "programs/parser_worker.py": ({"json.loads": 1, "ast.parse": 1}, f"{CHILD}; {OURS}"),
    "programs/parser_client.py": ({"json.loads": 1}, "what the child answers, of bounded length"),
    "programs/replies.py": ({"json.loads": 1}, "what the child answers, of bounded length"),
    "programs/inspection.py": (
        {"tree_of": 1, "ast.unparse": 2},
        f"a problem's expression, passed by the child before; {PASSED}",
    ),
    "harness/hardening.py": (
        {"json.loads": 1, "compile": 1, "exec": 1},
        f"{SANDBOX}, by the scorer: {BOUNDED}; compiled and run in a guest",
    ),
    "harness/stand_ins.py": ({"tree_of": 1, "ast.unparse": 1, "ast.literal_eval": 1}, f"{SANDBOX}, the seed of a task"),
    "harness/foreign.py": (
        {"compile": 1, "exec": 1, "json.loads": 2}, f"{SANDBOX}, a stand-in; the candidate if the task is forgeable"
    ),
    "harness/case_tasks.py": ({"json.loads": 1}, f"{SANDBOX}, a file of the task"),
    "harness/program_tasks.py": ({"json.loads": 1}, f"{SANDBOX}, a file of the task"),
    "harness/candidate_loading.py": ({"exec": 1, "compile": 1}, "in a guest"),
    "evaluation/cluster/content.py": ({"json.loads": 1}, "on a worker, what its engine sends"),
    "evaluation/cluster/dispatch.py": ({"json.loads": 1}, OURS),
    "evaluation/cluster/handshake.py": ({"json.loads": 1}, OURS),
    "evaluation/cluster/worker_entry.py": (
        {"json.loads": 3}, f"what a worker and the Dask process answer: {BOUNDED}; on a worker, what its engine sends"
    ),
    "evaluation/cluster/cluster_settings.py": ({"json.loads": 1}, USER),
    "_base/distribution.py": ({"json.loads": 1}, "what pip noted when it installed this copy"),
    "_base/literals.py": ({"tree_of": 1, "ast.literal_eval": 1}, "a single string of a literal, found by a pattern before"),
    "_base/protocol.py": ({"json.loads": 1}, BOUNDED),
    "_base/safe_load.py": ({"json.loads": 1, "yaml.load": 1}, "within limits; those of YAML are checked before a tree"),
    "_base/racing.py": ({"json.loads": 1}, OURS),
    "programs/layout.py": ({"ast.parse": 3, "ast.unparse": 1, "generate_tokens": 1}, PASSED),
    "search/genetics/variation.py": ({"tree_of": 4}, PASSED),
    "search/genetics/draft.py": ({"tree_of": 1, "ast.unparse": 2}, PASSED),
    "search/genetics/growth.py": ({"ast.unparse": 4}, PASSED),
    "search/genetics/expressions.py": ({"ast.unparse": 1}, PASSED),
    "search/strategies/constants.py": ({"ast.unparse": 1}, PASSED),
    "search/strategies/portfolio.py": ({"json.loads": 1}, OURS),
    "search/strategies/or_agent/allocation.py": ({"json.loads": 1}, OURS),
    "search/program_header.py": ({"json.loads": 1}, OURS),
    "search/strategies/tide.py": ({"json.loads": 1}, OURS),
    "search/caching.py": ({"json.loads": 1}, OURS),
    "search/strategies/scripted.py": ({"generate_tokens": 1}, "prompts of ours, for a model that is a script"),
    "search/strategies/or_agent/tree.py": ({"json.loads": 2}, OURS),
    "search/strategies/or_agent/ideas.py": ({"json.loads": 1}, BOUNDED),
    "llm/wire.py": ({"json.loads": 2, "raw_decode": 2}, BOUNDED),
    "llm/endpoint.py": ({"json.loads": 1}, BOUNDED),
    "llm/streaming.py": ({"json.loads": 1}, BOUNDED),
    "api/mcp/problems.py": ({"json.loads": 1}, OURS),
    "api/mcp/run_tools.py": ({"json.loads": 1}, OURS),
    "api/mcp/server.py": ({"json.loads": 1}, OURS),
    "api/experiments.py": ({"ast.parse": 1, "ast.literal_eval": 1}, USER),
    "evaluation/devices.py": ({"json.loads": 1}, OURS),
    "evaluation/job.py": ({"tree_of": 1}, USER),
    "search/user_commands.py": ({"json.loads": 3}, f"{USER}, of bounded length"),
    "search/round_experiments.py": ({"json.loads": 1}, OURS),
    "search/launch.py": ({"json.loads": 1}, OURS),
    "search/archive.py": ({"json.loads": 1}, OURS),
    "ledger/study.py": ({"json.loads": 3}, OURS),
    "_base/frames.py": ({"json.loads": 1}, OURS),
    "sandbox/table_reader.py": ({"validate_json": 1}, "what the child answers, of bounded length, checked by its types"),
    "sandbox/warm_script.py": ({"exec": 1, "compile": 2, "ast.parse": 1}, f"{SANDBOX}; an evaluator of the user's"),
    "formulate/data.py": ({"json.loads": 1}, USER),
    "formulate/evaluator.py": ({"json.loads": 4}, f"{SANDBOX}: {BOUNDED}"),
    "formulate/folder.py": ({"json.loads": 2}, OURS),
    "formulate/program_call.py": ({"json.loads": 2}, f"{SANDBOX}: {BOUNDED}"),
    "formulate/running.py": ({"json.loads": 1}, f"what the evaluator wrote: {BOUNDED}"),
    "benchmarks/formulate/sets.py": ({"json.loads": 2}, USER),
    "benchmarks/formulate/folder_sets.py": ({"json.loads": 1}, USER),
    "benchmarks/workspace/benchmark.py": ({"json.loads": 1}, OURS),
    "harness/wire_format.py": ({"json.loads": 1}, f"{SANDBOX}, by the scorer: {BOUNDED}"),
    "domains/driving/evaluation.py": ({"json.loads": 1}, SANDBOX),
    "benchmarks/workspace/generating/domain.py": ({"exec": 1}, "a program of our own, filled in with names that were drawn"),
    "benchmarks/converse/agents/formulating.py": ({"json.loads": 1, "exec": 1, "compile": 1}, SANDBOX),
    "benchmarks/converse/agents/sandboxed_programs.py": ({"json.loads": 1}, f"what a program left, of bounded size: {BOUNDED}"),
    "benchmarks/converse/problems/formulated.py": ({"json.loads": 1}, OURS),
    "converse/conversation_request.py": ({"json.loads": 1}, OURS),
    "benchmarks/converse/problems/reply_formats.py": ({"raw_decode": 1}, BOUNDED),
    "benchmarks/converse/evaluable_problems.py": ({"json.loads": 1}, USER),
    "modelling/capture/places.py": ({"ast.parse": 1}, "in a stranger's process, the stranger's program"),
    "modelling/capture/reading.py": ({"json.loads": 1}, f"what a program left, of bounded size: {BOUNDED}"),
    "modelling/files/json_text.py": ({"json.loads": 1}, BOUNDED),
    "modelling/data/names.py": ({"yaml.safe_load": 1}, f"corrections of the user, of bounded size: {BOUNDED}"),
    "modelling/files/sol_files.py": ({"json.loads": 1}, BOUNDED),
    "modelling/files/text_forms.py": ({"json.loads": 1}, BOUNDED),
    "modelling/files/mps_reader.py": ({"json.loads": 1}, BOUNDED),
    "modelling/files/nl_text.py": ({"json.loads": 1}, "in a child, what the parent wrote"),
    "workspace/reading.py": ({"json.loads": 1}, USER),
    "benchmarks/training/curve.py": ({"json.loads": 1}, OURS),
}  # fmt: skip


def sites(path: Path) -> dict[str, int]:
    """How often a file calls each parser."""
    found: Counter[str] = Counter()
    for name, times in source(path).calls.items():
        last = name.rpartition(".")[2]
        if name in PARSERS or last in METHODS:
            found[name if name in PARSERS else last] += times
    return dict(found)


def test_a_file_parses_only_what_the_table_says() -> None:
    named = {str(path.relative_to(PACKAGE)): path for path in SOURCES}
    named |= {f"benchmarks/{path.relative_to(BENCHMARKS)}": path for path in BENCHMARK_SOURCES}
    found = {name: there for name, path in named.items() if (there := sites(path))}
    assert found == {file: calls for file, (calls, _) in SITES.items()}


CHILDS = {"extract", "normalise", "parser_worker"}


def taken_from_the_child(module: str, names: tuple[str, ...]) -> bool:
    """Whether an import takes what reads strangers' programs out of the child."""
    if not module.startswith("oragent.programs"):
        return False
    return bool(
        {module.rpartition(".")[2], *names} & CHILDS
        or (module.endswith("programs.syntax") and not {*names} <= {"Signature", "canonical_form"})
        or (module == "oragent.programs" and "syntax" in names)
    )


def test_what_reads_in_the_child_is_imported_by_nothing_else() -> None:
    outside = [path for path in SOURCES if path.parent.name != "programs"]
    assert [(path, *one) for path in outside for one in source(path).taken if taken_from_the_child(*one)] == []
    assert taken_from_the_child("oragent.programs", ("syntax",))
    assert taken_from_the_child("oragent.programs.parser_worker", ("looks",))
