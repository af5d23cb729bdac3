"""Find uses of randomness and clocks in a program's text, which make its answers irreproducible."""

import ast

from oragent._base.errors import CandidateError
from oragent.programs import inspection, native

SEEDABLE = {  # random from call to call where they get no seed
    "numpy.random.default_rng": "np.random.default_rng(0)",
    "numpy.random.RandomState": "np.random.RandomState(0)",
    "numpy.random.SeedSequence": "np.random.SeedSequence(0)",
    "numpy.random.PCG64": "np.random.PCG64(0)",
    "numpy.random.MT19937": "np.random.MT19937(0)",
    "numpy.random.Philox": "np.random.Philox(0)",
    "numpy.random.SFC64": "np.random.SFC64(0)",
    "numpy.random.seed": "np.random.seed(0)",
    "random.Random": "random.Random(0)",
    "random.seed": "random.seed(0)",
}
ENTROPY = {"random.SystemRandom", "os.urandom", "os.getrandom", "uuid.uuid1", "uuid.uuid4", "secrets", "torch.seed"}
CLOCKS = {
    *(f"time.{name}{unit}" for name in ("time", "monotonic", "perf_counter", "process_time") for unit in ("", "_ns")),
    *("time.thread_time", "time.clock_gettime", "time.localtime", "time.gmtime"),
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
}
GENERATOR = "np.random.default_rng(0)"


def find_unseeded(source: str, language: str = "python") -> str:
    """Find where a program draws unseeded random numbers or reads the clock, and suggest a replacement.

    It reads the text alone, so it misses what is hidden well, and never runs anything.

    Returns:
        One line, such as ``np.random.default_rng() in line 3 has no seed: write np.random.default_rng(0)``; empty where
        nothing was found, or the text is no program.
    """
    if language == "cpp":
        return native.find_randomness(source)
    try:
        tree = inspection.parse_tree(source)
    except CandidateError:
        return ""
    full_names = _imported_names(tree)
    findings = [finding for node in ast.walk(tree) if (finding := _describe_chance(node, full_names))]
    return min(findings)[1] if findings else ""


def _imported_names(tree: ast.AST) -> dict[str, str]:
    """Full names of what the program's own names stand for."""
    full_names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                full_names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            full_names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return full_names


def _describe_chance(node: ast.AST, full_names: dict[str, str]) -> tuple[int, str] | None:
    """The line of a source of chance, and what is to be said of it."""
    if isinstance(node, ast.Call):
        name = _full_name(node.func, full_names)
        seeds = [
            argument
            for argument in (*node.args, *(word.value for word in node.keywords))
            if not (isinstance(argument, ast.Constant) and argument.value is None)
        ]
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
    """The full name of a dotted name; empty for any other expression, and for names of the program's own."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in full_names:
        return ""
    return ".".join([full_names[node.id], *reversed(parts)])
