"""Programs as text: parsing, checks of signatures, and canonical forms."""

import ast
import copy
import hashlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from oragent._base.ast_utils import tree_of
from oragent._base.errors import CandidateError, ProblemError
from oragent.programs import size_limits
from oragent.programs.normalise import drop_docstrings, normalise


@dataclass(frozen=True)
class Signature:
    """Signature of the function that the evaluator calls."""

    # Name of the function that evolves.
    function: str
    # Names of the parameters in order; they are passed by position or by keyword.
    parameters: tuple[str, ...]
    # Text of the ``def ...:`` line as shown to a model.
    text: str
    # Further functions that the program must define.
    others: tuple["Signature", ...] = ()
    # Language of the program, ``python`` or ``cpp``.
    language: str = "python"
    # Names of its files, the main one first, if it has several.
    files: tuple[str, ...] = ()
    # Fixed text and blocks of the seed, alternating, from ``regions.split_frame``; empty if all may change.
    frame: tuple[str, ...] = ()

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of all functions that the program must define."""
        return (self.function, *(further.function for further in self.others))

    @property
    def shown(self) -> str:
        """Text of all required definitions, for a prompt that puts it within backticks."""
        return "`\n`".join((self.text, *(further.text for further in self.others)))


def signature_to_json(signature: Signature) -> dict[str, object]:
    """Convert a signature to JSON data, without its frame."""
    return {
        "function": signature.function,
        "parameters": [*signature.parameters],
        "text": signature.text,
        "others": [signature_to_json(further) for further in signature.others],
        "language": signature.language,
        "files": [*signature.files],
    }


def read_signature(source: str, function: str) -> Signature:
    """Read the signature of ``function`` from a problem's seed heuristic; a `ProblemError` gives the reason."""
    try:
        node = _find_definition(parse_program(source), function)
        header = copy.copy(node)
        header.body, header.decorator_list = [ast.Pass()], []
        return Signature(function, _parameter_names(node), ast.unparse(header).splitlines()[0])
    except CandidateError as problem:
        raise ProblemError(f"the seed heuristic is no valid program: {problem}") from None


# Called for the seed in every prompt without a program.
@lru_cache(maxsize=16)
def outline_function(source: str, function: str, *, documented: bool = True) -> str:
    """Return the definition of ``function`` with ``...`` as its body, documented or not; ``rejected`` without one."""
    node = copy.copy(_find_definition(parse_program(source), function))
    docstring = [node.body[0]] if documented and ast.get_docstring(node) else []
    node.body, node.decorator_list = [*docstring, ast.Expr(ast.Constant(...))], []
    return ast.unparse(node)


# Called when a reply is read, and again before its evaluation.
@lru_cache(maxsize=64)
def check_program(source: str, signature: Signature) -> None:
    """Reject a Python program that cannot be called as ``signature``, before it is evaluated.

    Additional parameters are allowed if they have defaults, and so is any code around the function.

    Raises:
        CandidateError: ``rejected``: too long, not Python, or another function or signature.
    """
    check_tree(compile_program(source), signature)


def check_tree(tree: ast.Module, signature: Signature) -> None:
    """Do the same as `check_program` with a program that has been parsed and compiled."""
    for expected in (signature, *signature.others):
        node = _find_definition(tree, expected.function)
        count, names = len(expected.parameters), _parameter_names(node)
        required = len(names) - len(node.args.defaults)
        extra = [
            arg.arg for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if not default
        ]
        if names[:count] != expected.parameters or required > count or extra:
            shown = f"{expected.function}({', '.join((*names, *extra))})"
            raise _rejection(
                f"{shown} has other parameters than wanted; define `{expected.text}`, others need a default"
            )


def compile_program(source: str) -> ast.Module:
    """Parse a program and check that Python can compile it; ``rejected`` if not."""
    tree = parse_program(source)
    try:
        with warnings.catch_warnings():
            # Warnings about a candidate's code are suppressed.
            warnings.simplefilter("ignore")
            compile(tree, "candidate.py", "exec", dont_inherit=True)
    except SyntaxError as problem:
        raise _syntax_error(problem, source) from None
    except (ValueError, RecursionError, MemoryError) as problem:
        raise _rejection(f"the program cannot be compiled: {problem or type(problem).__name__}") from None
    return tree


def canonical_form(source: str, function: str, *others: str) -> str:
    """Rewrite a program so that equal programs have the same text.

    Formatting, comments, docstrings, annotations, unused imports and definitions are removed, and local variables are
    renamed to ``v0``, ``v1``, ... in order of appearance, if this cannot change the behaviour. A program that may read
    its own names or text (``eval``, ``locals``, ``inspect``, dunder attributes, ...) is returned unchanged.

    Raises:
        CandidateError: ``rejected``: the source does not parse.
    """
    return _cached_canonical_form(source, (function, *others))


# Breeding, the cache of scores and the archive request the same forms.
@lru_cache(maxsize=512)
def _cached_canonical_form(source: str, functions: tuple[str, ...]) -> str:
    return reduce_tree(parse_program(source), source, functions)


def reduce_tree(tree: ast.Module, source: str, functions: Sequence[str], nodes: Sequence[ast.AST] = ()) -> str:
    """Do the same as `canonical_form` with a parsed program; this changes its tree.

    ``nodes`` are those without docstrings, if these have been dropped.
    """
    normalised = normalise(tree, functions, nodes)
    if normalised is None:
        return source
    try:
        return ast.unparse(normalised)
    except (ValueError, RecursionError):
        # An f-string or a number that this Python cannot write as text.
        return source


def fingerprint(source: str, function: str) -> str:
    """Return the SHA-256 of the canonical form as hex digits: the key under which equal programs are scored once."""
    return hashlib.sha256(canonical_form(source, function).encode()).hexdigest()


# A good program is a parent, or shown to a model, repeatedly.
@lru_cache(maxsize=512)
def count_nodes(source: str) -> int:
    """Count the nodes of the syntax tree, without docstrings and load or store marks: the size of a program."""
    return len(drop_docstrings(parse_program(source)))


def parse_program(source: str) -> ast.Module:
    """Parse a program of limited size and depth; ``rejected`` with the line of a syntax error."""
    if problem_text := size_limits.text_problem(source):
        raise _rejection(problem_text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = tree_of(source)
    except SyntaxError as problem:
        raise _syntax_error(problem, source) from None
    except (RecursionError, MemoryError):
        message = f"the program is nested deeper than {size_limits.MAX_DEPTH} levels; use intermediate variables"
        raise _rejection(message) from None
    if problem_text := size_limits.tree_problem(tree, source):
        raise _rejection(problem_text)
    return tree


def _find_definition(tree: ast.Module, function: str) -> ast.FunctionDef:
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    node = defined.get(function)
    if node is None:
        defined_text = f"it defines {', '.join(defined)}" if defined else "it defines no function"
        raise _rejection(
            f"the program has no function {function} at top level ({defined_text}); define `def {function}(...)`"
        )
    if isinstance(node, ast.AsyncFunctionDef):
        raise _rejection(f"{function} is an async function; define it with a plain `def`")
    return node


def _parameter_names(node: ast.FunctionDef) -> tuple[str, ...]:
    if node.args.posonlyargs:
        raise _rejection(f"{node.name} has positional-only parameters, but is called by keyword; remove the `/`")
    return tuple(arg.arg for arg in node.args.args)


def _syntax_error(problem: SyntaxError, source: str) -> CandidateError:
    number = problem.lineno or 0
    # Python ends lines at these characters only.
    lines = re.split("\r\n|\r|\n", source)
    text = "".join(lines[number - 1 : number]).strip()[:120]
    return _rejection(f"syntax error on line {number}: {problem.msg}" + (f": {text}" if text else ""))


def _rejection(message: str) -> CandidateError:
    return CandidateError(message, status="rejected")
