"""Static properties of a program, read without running it.

Untrusted text is parsed, compiled, normalised and measured in a child process with limits (``parser_worker``). This
process parses a program itself in two cases only: the child accepted the same text before, or our own operators built
it from the trees of such programs (``mark_safe``). Code that needs a tree calls ``parse_tree``, never the parser.
"""

import ast
import hashlib
import threading
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from oragent._base.ast_utils import tree_of
from oragent._base.errors import CandidateError, OragentError, ProblemError
from oragent._base.files import MAX_ARGUMENT_BYTES, read_bounded_bytes
from oragent.programs import native, parser_client, parser_worker, regions, size_limits, syntax
from oragent.programs.kept_arrays import contract_references, expand_references
from oragent.programs.parser_client import ParseLimitExceeded
from oragent.programs.parser_worker import Inspected as Inspected
from oragent.programs.syntax import Signature

# Maximum characters of a primitive.
MAX_EXPRESSION = 2_000
T = TypeVar("T")

# Hashes of texts that this process may parse.
_passed: OrderedDict[bytes, None] = OrderedDict()
_MAX_PASSED = 100_000
# Cache: a program is inspected when its reply is read, when it is compared with others, and when it is scored.
_inspected: OrderedDict[tuple[str, Signature], Inspected] = OrderedDict()
_MAX_INSPECTED = 512
_lock = threading.Lock()


# Random in each call without a seed.
SEEDABLE = {
    **{
        f"numpy.random.{name}": f"np.random.{name}(0)"
        for name in ("default_rng", "RandomState", "SeedSequence", "PCG64", "MT19937", "Philox", "SFC64", "seed")
    },
    **{f"random.{name}": f"random.{name}(0)" for name in ("Random", "seed")},
}
ENTROPY = {"random.SystemRandom", "os.urandom", "os.getrandom", "uuid.uuid1", "uuid.uuid4", "secrets", "torch.seed"}
CLOCKS = {
    *(f"time.{name}{unit}" for name in ("time", "monotonic", "perf_counter", "process_time") for unit in ("", "_ns")),
    *("time.thread_time", "time.clock_gettime", "time.localtime", "time.gmtime"),
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
}
GENERATOR = "np.random.default_rng(0)"


def mark_safe(source: str) -> None:
    """Record that this process may parse a text: the child accepted it, or it was built from accepted trees."""
    with _lock:
        _passed[_digest_text(source)] = None
        if len(_passed) > _MAX_PASSED:
            _passed.popitem(last=False)


def is_safe(source: str) -> bool:
    """Return True if this process may parse a text."""
    return _digest_text(source) in _passed


def _digest_text(source: str) -> bytes:
    return hashlib.sha256(source.encode(errors="surrogatepass")).digest()


def inspect_program(source: str, signature: Signature) -> Inspected:
    """Inspect a program that must be callable as ``signature``.

    A syntax error, another function or signature, or a text that is too long, too deeply nested or too expensive raises
    no exception: the result has a ``problem``.
    """
    with _lock:
        cached = _inspected.get((source, signature))
    return cached or _cache_inspection(source, signature, _inspect_uncached(source, signature))


def _inspect_uncached(source: str, signature: Signature) -> Inspected:
    if is_safe(source) and signature.language == "python":
        return parser_worker.inspect_local(source, signature)
    if problem := size_limits.text_problem(source):
        return Inspected(problem, source, parser_worker.hash_text(source), 0)
    try:
        return _read_inspection(
            parser_client.request("inspect", source=source, signature=syntax.signature_to_json(signature)),
            source,
            signature,
        )
    except ParseLimitExceeded as hopeless:
        return Inspected(str(hopeless), source, parser_worker.hash_text(source), 0)


def prime_cache(source: str, signature: Signature, answer: object) -> None:
    """Store the inspection that the child made when it extracted a program, so that it is not requested again."""
    if isinstance(answer, dict) and not size_limits.text_problem(source):
        _cache_inspection(source, signature, _read_inspection(answer, source, signature))


def _read_inspection(answer: dict[str, object], source: str, signature: Signature) -> Inspected:
    if problem := _read_field(answer, "problem", str):
        return Inspected(problem, source, parser_worker.hash_text(source), 0)
    canonical, length = _read_field(answer, "canonical", str), _read_field(answer, "length", int)
    if signature.language == "python":
        mark_safe(source)
    return Inspected("", canonical, parser_worker.hash_text(canonical), length)


def _cache_inspection(source: str, signature: Signature, inspected: Inspected) -> Inspected:
    with _lock:
        _inspected[source, signature] = inspected
        if len(_inspected) > _MAX_INSPECTED:
            _inspected.popitem(last=False)
    return inspected


def fit_to_frame(source: str, signature: Signature) -> str:
    """Restore the fixed parts of the seed in a program, if any; ``rejected`` if its markers differ."""
    if not signature.frame:
        return source
    if regions.has_markers(source):
        return regions.fill_frame(signature.frame, regions.extract_blocks(source, signature.frame))
    if signature.language != "python":
        return regions.fill_frame(signature.frame, regions.extract_blocks(source, signature.frame))
    if is_safe(source):
        program = regions.fill_frame(signature.frame, regions.spread_program(source, signature.frame))
        mark_safe(program)
        return program
    if problem := size_limits.text_problem(source):
        raise CandidateError(problem, "rejected")
    try:
        answer = parser_client.request("spread", source=source, frame=list(signature.frame))
    except ParseLimitExceeded as hopeless:
        raise CandidateError(str(hopeless), "rejected") from None
    if isinstance(complaint := answer.get("problem"), str):
        raise CandidateError(complaint, "rejected")
    blocks = answer.get("blocks")
    if not isinstance(blocks, list) or len(blocks) != len(signature.frame) // 2:
        raise CandidateError("the program cannot be read; write a simpler one", "rejected")
    return regions.fill_frame(signature.frame, [str(block) for block in blocks])


def parse_tree(source: str) -> ast.Module:
    """Parse a program after a safety check; ``rejected`` if it cannot be parsed or compiled."""
    _check_safe(source)
    return syntax.parse_program(source)


# A good program is shown, sorted and used as parent repeatedly.
@lru_cache(maxsize=4096)
def program_length(source: str) -> int:
    """Count the nodes of the syntax tree, without docstrings and load or store marks; ``rejected`` if it is invalid."""
    _check_safe(source)
    return syntax.count_nodes(source)


def lay_out(source: str) -> str:
    """Return a program formatted from its syntax tree; unchanged if it cannot be parsed."""
    try:
        return _read_field(parser_client.request("layout", source=source), "text", str)
    except ParseLimitExceeded:
        return source


def signature_of(source: str, function: str) -> Signature:
    """Read the signature of ``function`` from a problem's seed heuristic; a `ProblemError` gives the reason."""
    try:
        _check_safe(source)
    except CandidateError as problem:
        raise ProblemError(f"the seed heuristic is no valid program: {problem}") from None
    return syntax.read_signature(source, function)


def outline(source: str, function: str, *, documented: bool = True) -> str:
    """Return the definition of ``function`` with ``...`` as its body, documented or not; ``rejected`` without one."""
    _check_safe(source)
    return syntax.outline_function(source, function, documented=documented)


# Called for the seed in every prompt.
@lru_cache(maxsize=64)
def documentation(source: str, function: str) -> str:
    """Return the docstring of a top-level function of a valid program; empty without one."""
    named = [node for node in parse_tree(source).body if isinstance(node, ast.FunctionDef) and node.name == function]
    if named:
        return ast.get_docstring(named[-1]) or ""
    return ""


def parse_expression(text: str) -> ast.expr:
    """Parse an expression of a problem's author after a safety check; ``rejected`` if it is invalid."""
    if problem := _expression_problem(text):
        raise CandidateError(problem, "rejected")
    return tree_of(text.strip(), mode="eval").body


@lru_cache(maxsize=1024)
def _expression_problem(text: str) -> str:
    if len(text) > MAX_EXPRESSION:
        return f"it has {len(text):,} characters, at most {MAX_EXPRESSION:,} are taken"
    return _ask_problem("expression", text=text)


def read_program(path: Path, signature: Signature) -> str:
    """Read a program that is callable as ``signature`` from a file; ``rejected`` errors name the file."""
    problem = ""
    try:
        content = read_bounded_bytes(path, MAX_ARGUMENT_BYTES)
        source = content.decode("utf-8", "replace" if len(content) > size_limits.MAX_BYTES else "strict")
        source, arrays = contract_references(source.replace("\r\n", "\n").replace("\r", "\n"))
        source = fit_to_frame(source, signature)
        size = len(source.encode("utf-8", "replace")) if arrays else len(content)
        if rejection := size_limits.size_problem(size) or inspect_program(source, signature).problem:
            problem = f"{path}: {rejection}"
        elif signature.language == "python":
            source = expand_references(source, arrays.get)
    except OSError as complaint:
        problem = str(complaint) if complaint.strerror is None else f"cannot read {path}: {complaint.strerror}"
    except UnicodeDecodeError:
        problem = f"{path} is not UTF-8 text"
    except CandidateError as complaint:
        problem = f"{path}: {complaint}"
    if problem:
        raise CandidateError(problem, "rejected")
    return source


def _check_safe(source: str) -> None:
    if not is_safe(source):
        problem = size_limits.text_problem(source) or _ask_problem("vet", source=source)
        if problem:
            raise CandidateError(problem, "rejected")
        mark_safe(source)


def _ask_problem(kind: str, **fields: str) -> str:
    """Ask the child for the problem of a text; empty for a valid one."""
    try:
        return _read_field(parser_client.request(kind, **fields), "problem", str)
    except ParseLimitExceeded as hopeless:
        return str(hopeless)


def _read_field(answer: dict[str, object], name: str, kind: type[T]) -> T:
    """Read a field of an answer and check its type: the child handles hostile texts, so its answers are untrusted."""
    value = answer.get(name)
    if type(value) is not kind:
        raise OragentError(f"the process that reads programs gave an answer without {name}: try again")
    return value


def find_unseeded(source: str, language: str = "python") -> str:
    """Find unseeded random numbers or a read of the clock in a program, and suggest a replacement.

    It reads the text only, so it misses obfuscated code. The answer is one line, such as ``np.random.default_rng() in
    line 3 has no seed: write np.random.default_rng(0)``; empty if nothing was found or the program does not parse.
    """
    if language == "cpp":
        return native.find_randomness(source)
    try:
        tree = parse_tree(source)
    except CandidateError:
        return ""
    full_names = _imported_names(tree)
    findings = [finding for node in ast.walk(tree) if (finding := _describe_chance(node, full_names))]
    if findings:
        return min(findings)[1]
    return ""


def _imported_names(tree: ast.AST) -> dict[str, str]:
    """Return the full names of imported names, by their names in the program."""
    full_names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    full_names[alias.asname or alias.name.partition(".")[0]] = alias.name
                else:
                    full_names[alias.asname or alias.name.partition(".")[0]] = alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module:
            full_names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return full_names


def _describe_chance(node: ast.AST, full_names: dict[str, str]) -> tuple[int, str] | None:
    if isinstance(node, ast.Call):
        name = _full_name(node.func, full_names)
        arguments = (*node.args, *(keyword.value for keyword in node.keywords))
        seeds = [value for value in arguments if not (isinstance(value, ast.Constant) and value.value is None)]
        if name in SEEDABLE and not seeds:
            description = f"{ast.unparse(node.func)[:60]}() in line {node.lineno} has no seed: write {SEEDABLE[name]}"
            return node.lineno, description
    elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
        name = _full_name(node, full_names)
        description = f"{ast.unparse(node)[:60]} in line {node.lineno}"
        if name in ENTROPY or name.partition(".")[0] == "secrets":
            return node.lineno, f"{description} is random in each process: draw from {GENERATOR}"
        if name in CLOCKS:
            return node.lineno, f"{description} reads the clock: let the answer depend on the arguments alone"
    return None


def _full_name(node: ast.AST, full_names: dict[str, str]) -> str:
    """Return the full name of a dotted name; empty for other expressions and for the program's own names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in full_names:
        return ""
    return ".".join([full_names[node.id], *reversed(parts)])
