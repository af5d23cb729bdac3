"""Programs as text: parse them, hold them to a signature, and know equal ones by their canonical form."""

import ast
import copy
import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from oragent._base.errors import CandidateError, ProblemError
from oragent._base.trees import tree_of
from oragent.programs import caps
from oragent.programs.normalise import drop_docstrings, normalise


@dataclass(frozen=True)
class Signature:
    """What the evaluator calls.

    Attributes:
        function: Name of the function that evolves.
        parameters: Names of the parameters in their order; they are passed by position or by keyword.
        text: Text of the ``def ...:`` line as a model is shown it.
        others: Further functions that the program must define.
        language: Language of the program, ``python`` or ``cpp``.
        files: Names of its files, the main one first, where it has several.
        frame: Fixed text and blocks of the seed in turn, as ``regions.frame`` has them; empty where all may change.
    """

    function: str
    parameters: tuple[str, ...]
    text: str
    others: tuple["Signature", ...] = ()
    language: str = "python"
    files: tuple[str, ...] = ()
    frame: tuple[str, ...] = ()

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of all functions that the program must define."""
        return (self.function, *(one.function for one in self.others))

    @property
    def shown(self) -> str:
        """What it must define, as a model is shown it within backticks."""
        return "`\n`".join((self.text, *(one.text for one in self.others)))


def plain(wanted: Signature) -> dict[str, object]:
    """A signature as JSON has it, without its frame."""
    return {
        "function": wanted.function,
        "parameters": [*wanted.parameters],
        "text": wanted.text,
        "others": [plain(one) for one in wanted.others],
        "language": wanted.language,
        "files": [*wanted.files],
    }


def signature(source: str, function: str) -> Signature:
    """Read the signature of ``function`` off a problem's seed heuristic.

    Raises:
        ProblemError: the seed does not parse, or has no plain function of that name.
    """
    try:
        node = _definition(parse(source), function)
        header = copy.copy(node)
        header.body, header.decorator_list = [ast.Pass()], []
        return Signature(function, _parameters(node), ast.unparse(header).splitlines()[0])
    except CandidateError as problem:
        raise ProblemError(f"the seed heuristic is no valid program: {problem}") from None


@lru_cache(maxsize=16)  # of the seed, in every prompt that shows no program
def outline(source: str, function: str, *, documented: bool = True) -> str:
    """The definition of ``function`` with ``...`` for a body, perhaps with its docstring: what a model must fill in.

    Raises:
        CandidateError: with status ``rejected``: the source does not parse, or has no such function.
    """
    node = copy.copy(_definition(parse(source), function))
    said = [node.body[0]] if documented and ast.get_docstring(node) else []
    node.body, node.decorator_list = [*said, ast.Expr(ast.Constant(...))], []
    return ast.unparse(node)


@lru_cache(maxsize=64)  # asked when a reply is read, and again before an evaluation is spent
def check(source: str, wanted: Signature) -> None:
    """Reject a Python program that cannot be called as ``wanted``, before an evaluation is spent on it.

    Parameters that follow the wanted ones are fine if they have defaults, and so is any code around the function.

    Raises:
        CandidateError: with status ``rejected``: too long, not Python, or another function or signature.
    """
    hold(compiled(source), wanted)


def hold(tree: ast.Module, wanted: Signature) -> None:
    """Do what ``check`` does, with a program that has been parsed and compiled.

    Raises:
        CandidateError: with status ``rejected``: another function or signature.
    """
    for one in (wanted, *wanted.others):
        _hold(tree, one)


def _hold(tree: ast.Module, wanted: Signature) -> None:
    node = _definition(tree, wanted.function)
    count, names = len(wanted.parameters), _parameters(node)
    required = len(names) - len(node.args.defaults)
    extra = [arg.arg for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if not default]
    if names[:count] != wanted.parameters or required > count or extra:
        shown = f"{wanted.function}({', '.join((*names, *extra))})"
        raise _rejected(f"{shown} has other parameters than wanted; define `{wanted.text}`, others need a default")


def compiled(source: str) -> ast.Module:
    """Parse a program that Python can compile; the code itself is of no use here.

    Raises:
        CandidateError: with status ``rejected``: it does not parse, or cannot be compiled.
    """
    tree = parse(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a candidate's doubtful style is no business of ours
            compile(tree, "candidate.py", "exec", dont_inherit=True)
    except SyntaxError as problem:
        raise _syntax_error(problem, source) from None
    except (ValueError, RecursionError, MemoryError) as problem:
        raise _rejected(f"the program cannot be compiled: {problem or type(problem).__name__}") from None
    return tree


def canonical(source: str, function: str, *others: str) -> str:
    """Rewrite a program so that equal ones read the same.

    Formatting, comments, docstrings, annotations, unused imports and definitions go, and local variables are called
    ``v0``, ``v1``, ... in order of appearance: wherever that cannot change what the program does. A program that may
    look at its own names or text (``eval``, ``locals``, ``inspect``, dunder attributes, ...) is returned as it is.

    Raises:
        CandidateError: with status ``rejected``: the source does not parse.
    """
    return _canonical(source, (function, *others))


@lru_cache(maxsize=512)  # breeding, the cache of scores and the archive ask for the same ones
def _canonical(source: str, functions: tuple[str, ...]) -> str:
    return reduced(parse(source), source, functions)


def reduced(tree: ast.Module, source: str, functions: Sequence[str], found: Sequence[ast.AST] = ()) -> str:
    """Do what ``canonical`` does, with a program that has been parsed; its tree is spent by that.

    Args:
        tree: The program.
        source: Its text.
        functions: Names of the functions that evolve.
        found: Its nodes without docstrings, where these have been dropped.
    """
    kept = normalise(tree, functions, found)
    if kept is None:
        return source
    try:
        return ast.unparse(kept)
    except (ValueError, RecursionError):  # an f-string or a number that has no text on this Python
        return source


def fingerprint(source: str, function: str) -> str:
    """Return the SHA-256 of the canonical form as hex digits: the key under which equal programs are scored once."""
    return hashlib.sha256(canonical(source, function).encode()).hexdigest()


@lru_cache(maxsize=512)  # a good program is bred from, or shown to a model, again and again
def length(source: str) -> int:
    """Count the nodes of the syntax tree, without docstrings and load or store marks: the size of a program."""
    return len(drop_docstrings(parse(source)))


def parse(source: str) -> ast.Module:
    """Parse a program of bounded size and depth.

    Raises:
        CandidateError: with status ``rejected``; the message names the line of a syntax error.
    """
    if said := caps.text_problem(source):
        raise _rejected(said)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = tree_of(source)
    except SyntaxError as problem:
        raise _syntax_error(problem, source) from None
    except UnicodeEncodeError:
        raise _rejected("the program holds characters that are no valid text; send plain UTF-8") from None
    except (RecursionError, MemoryError):
        raise _too_deep() from None
    if said := caps.tree_problem(tree, source):
        raise _rejected(said)
    return tree


def _definition(tree: ast.Module, function: str) -> ast.FunctionDef:
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    node = defined.get(function)
    if node is None:
        found = f"it defines {', '.join(defined)}" if defined else "it defines no function"
        raise _rejected(f"the program has no function {function} at top level ({found}); define `def {function}(...)`")
    if isinstance(node, ast.AsyncFunctionDef):
        raise _rejected(f"{function} is an async function; define it with a plain `def`")
    return node


def _parameters(node: ast.FunctionDef) -> tuple[str, ...]:
    if node.args.posonlyargs:
        raise _rejected(f"{node.name} has positional-only parameters, but is called by keyword; remove the `/`")
    return tuple(arg.arg for arg in node.args.args)


def _syntax_error(problem: SyntaxError, source: str) -> CandidateError:
    lines, number = source.splitlines(), problem.lineno or 0
    text = lines[number - 1].strip()[:120] if 0 < number <= len(lines) else ""
    return _rejected(f"syntax error on line {number}: {problem.msg}" + (f": {text}" if text else ""))


def _too_deep() -> CandidateError:
    return _rejected(f"the program is nested deeper than {caps.MAX_DEPTH} levels; use intermediate variables")


def _rejected(message: str) -> CandidateError:
    return CandidateError(message, status="rejected")
