"""Misbehaving candidates of a few lines, by name: the statuses with which they may end, their seconds, and their text."""

PATIENT, SHORT = 20, 1
DEPTH = 41


def call(*lines: str) -> str:
    """Return a program whose function has these lines."""
    return "def heuristics(matrix):\n" + "".join(f"    {line}\n" for line in lines)


def nest(depth: int) -> str:
    """Return nested ``finally`` blocks: the compiler compiles each twice, with everything in it."""
    opened = "".join(f"{' ' * at}try:\n{' ' * at} pass\n{' ' * at}finally:\n" for at in range(1, depth + 1))
    return f"def heuristics(matrix):\n{opened}{' ' * (depth + 1)}pass\n"


CANDIDATES: dict[str, tuple[str, int, str]] = {
    "changes_its_input": ("ok", PATIENT, call("found = -matrix", "matrix[:] = 0", "return found")),
    "defines_nothing": ("error", PATIENT, "x = 1\n"),
    "exits": ("error", PATIENT, call("raise SystemExit(0)")),
    "is_honest": ("ok", PATIENT, call("return -matrix")),
    "is_no_python": ("rejected", PATIENT, "def heuristics(matrix:\n    return matrix\n"),
    "kills_itself": ("error crashed", PATIENT, "import os\n" + call("os.kill(os.getpid(), 9)", "raise RuntimeError")),
    "loops": ("timeout", SHORT, call("while True: pass")),
    "loops_at_import": ("timeout", SHORT, "while True: pass\n"),
    "multiplies_in_the_compiler": ("timeout memory crashed", 2, nest(DEPTH)),
    "raises_a_memory_error": ("memory", PATIENT, call("raise MemoryError")),
    "raises_at_import": ("error", PATIENT, 'raise ValueError("not today")\n'),
    "raises_at_the_first_call": ("error", PATIENT, call('return matrix["a"]')),
    "recurses": ("error", PATIENT, call("return heuristics(matrix)")),
    "returns_a_function": ("invalid", PATIENT, call("return heuristics")),
    "returns_a_row": ("invalid", PATIENT, call("return matrix[0]")),
    "returns_complex_numbers": ("invalid", PATIENT, call("return -matrix + 1j")),
    "returns_huge_integers": ("invalid", PATIENT, call("return [[10**400 for _ in row] for row in matrix]")),
    "returns_infinity": ("invalid", PATIENT, call("return -matrix * float('inf')")),
    "returns_nan": ("invalid", PATIENT, call("return matrix * float('nan')")),
    "returns_none": ("invalid", PATIENT, call("return None")),
    "returns_objects": ("invalid", PATIENT, call("return matrix.astype(object)")),
    "returns_text": ("invalid", PATIENT, call("return matrix.astype(str)")),
    "segfaults": ("crashed", PATIENT, "import ctypes\n" + call("ctypes.string_at(0)")),
    "sleeps": ("timeout", SHORT, "import time\n" + call("time.sleep(10**6)")),
    "sleeps_lightly": ("timeout", 2, "import time\n" + call("while True: time.sleep(0.01)")),
    "stops_itself": ("error timeout", SHORT, "import os\n" + call("os.kill(os.getpid(), 19)", "raise RuntimeError")),
    "takes_memory_at_once": ("memory", PATIENT, "import numpy as np\n" + call("return np.ones(6 << 27)")),
    "takes_memory_slowly": ("memory", 30, call("return [bytearray(16 << 20) for _ in range(6 << 6)]")),
}
