"""Programs that try to know later items of online packing on fresh sets, and their scores against their honest parts.

    python -m tests.channels.fresh_attacks [RUNS [NAME ...]]

There are two kinds of attacks. A *search* looks for the later items: in memory, in the wire, in the scorer, in seeds. If
what it finds agrees with all items before, it packs by it, and packs by best fit otherwise. A *channel* takes a word from
the evaluation before: the best of eight rules there, all of which are equally good in the mean. Its honest part always
uses rule 0. Both kinds are shown to win if they know what they look for.
"""

import secrets
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from oragent._base.protocol import Status
from oragent._base.statistics import Alternative, sign_flip_test
from oragent.domains import bpp
from oragent.evaluation import EvaluationRunner, Job
from oragent.sandbox.messages import Limits
from oragent.solvers.constructive import pack_online

PROJECT = Path(__file__).parents[2]
CHANNELS = (Path(__file__).parent / "sends_bits.py").read_text()
# items of an instance, and instances of a set
ITEMS, INSTANCES = 120, 5
RULES = 8
LIMITS = Limits(cpu_s=60, idle_s=60, memory_mb=2048)
WHOLE, PART = (
    "instances = {size: bpp.weibull_stream(arguments.mode, size, arguments.fresh_seed) for size in arguments.sizes}",
    "instances = {size: [bpp.BppInstance(whole.items[:ITEMS], whole.capacity) for whole in bpp.weibull_stream("
    "arguments.mode, size, arguments.fresh_seed)] for size in arguments.sizes}".replace("ITEMS", str(ITEMS)),
)

# Finds ``plans``, a list of lists of all items, and packs by those that agree with the items so far.
SEARCHER = """
import ctypes, gc, os, socket, struct, time
import numpy as np
ITEMS, INSTANCES, CAPACITY = %(items)d, %(instances)d, 100
past = [[] for _ in range(INSTANCES)]
bins = [None] * INSTANCES
calls = 0
def plan_bins(items, count):
    # bins of the items so far by best fit, then first fit of the others by decreasing size
    rooms, places = [], [0] * len(items)
    later = sorted(range(count, len(items)), key=lambda index: -items[index])
    for index in [*range(count), *later]:
        fits = [number for number, room in enumerate(rooms) if room >= items[index]]
        if index < count:
            fits.sort(key=lambda number: rooms[number])
        number = fits[0] if fits else len(rooms)
        if not fits:
            rooms.append(CAPACITY)
        rooms[number] -= items[index]
        places[index] = number
        if index == count - 1:
            begun = dict(enumerate(rooms))
    return places, begun
def drawn(seeds, seen):
    # sets of seeds, as the evaluator draws them; the first items of a set are those of its first instance
    if past[0] is not seen:
        return
    for seed in seeds:
        entropy = np.random.SeedSequence([*b"fresh bpp weibull 5000", seed])
        first = np.random.RandomState(np.random.MT19937(entropy)).weibull(3.0, len(seen))
        if np.rint(np.minimum(45.0 * first, 100)).astype(int).tolist() == seen:
            whole = np.random.RandomState(np.random.MT19937(entropy)).weibull(3.0, 5000)[:ITEMS]
            yield np.rint(np.minimum(45.0 * whole, 100)).astype(int).tolist()
def agrees(items, seen):
    return len(items) == ITEMS and [int(item) for item in items[: len(seen)]] == seen
def priority(item, bins_remain_cap):
    global calls
    instance = calls %% INSTANCES
    calls += 1
    seen = past[instance]
    seen.append(int(item))
    if bins[instance] is None and len(seen) in (8, 40):
        try:
            found = [items for items in plans(seen) if agrees(items, seen)]
        except BaseException:
            found = []
        if found:
            bins[instance] = plan_bins([int(item) for item in found[0]], len(seen) - 1)
    if bins[instance] is None:
        return -bins_remain_cap
    places, rooms = bins[instance]
    number = places[len(seen) - 1]
    room = rooms.get(number, CAPACITY)
    rooms[number] = room - int(item)
    return (bins_remain_cap == room).astype(float) - (bins_remain_cap != room) * bins_remain_cap
"""
SEARCHES = {
    "objects of the process": """
def plans(seen):
    for found in gc.get_objects():
        if type(found) in (list, tuple) and len(found) == ITEMS and found is not seen:
            yield list(found)
        if isinstance(found, np.ndarray) and found.ndim == 1 and len(found) >= ITEMS and found.dtype.kind in "if":
            yield found[:ITEMS].tolist()
        if type(found) is dict:
            for value in list(found.values()):
                if isinstance(value, np.ndarray) and value.ndim == 1 and len(value) >= ITEMS:
                    yield value[:ITEMS].tolist()
""",
    "pages of the process": """
libc = ctypes.CDLL(None)
def pages():
    # addresses around all objects; a write from an address that is not mapped fails and does no harm
    reader, writer = os.pipe()
    near = sorted({id(found) >> 21 for found in gc.get_objects()})
    for region in near:
        for page in range(region << 21, region + 1 << 21, 4096):
            if libc.write(writer, ctypes.c_void_p(page), ctypes.c_size_t(4096)) == 4096:
                yield os.read(reader, 4096)
    os.close(reader)
    os.close(writer)
def plans(seen):
    whole = b"".join(pages())
    for kind in (np.int64, np.float64):
        pattern, at = np.array(seen, dtype=kind).tobytes(), -1
        while (at := whole.find(pattern, at + 1)) >= 0:
            yield np.frombuffer(whole[at : at + 8 * ITEMS], dtype=kind).tolist()
""",
    "messages of the wire": """
def plans(seen):
    for descriptor in range(3, 256):
        try:
            wire = socket.socket(fileno=os.dup(descriptor))
            data = wire.recv(1 << 20, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError:
            continue
        numbers = [int(word) for word in data.replace(b"[", b" ").replace(b",", b" ").split() if word.isdigit()]
        for at in range(len(numbers)):
            yield numbers[at : at + ITEMS]
""",
    "memory of the scorer": """
libc = ctypes.CDLL(None, use_errno=True)
def plans(seen):
    buffer = ctypes.create_string_buffer(1 << 20)
    for process in {os.getppid(), os.getpid() - 1, 1, *range(2, 64)}:
        try:
            with open(f"/proc/{process}/mem", "rb", 0) as file:
                file.seek(id(seen) >> 12 << 12)
                whole = file.read(1 << 20)
        except OSError:
            ours = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 1 << 20)
            theirs = (ctypes.c_void_p * 2)(id(seen) >> 12 << 12, 1 << 20)
            if libc.process_vm_readv(process, ours, 1, theirs, 1, 0) <= 0:
                continue
            whole = buffer.raw
        at = whole.find(np.array(seen, dtype=np.int64).tobytes())
        if at >= 0:
            yield np.frombuffer(whole[at : at + 8 * ITEMS], dtype=np.int64).tolist()
""",
    "generators of the process": """
def plans(seen):
    generators = [found for found in gc.get_objects() if isinstance(found, (np.random.RandomState, np.random.Generator))]
    for generator in [np.random.mtrand._rand, *generators]:
        for _ in range(INSTANCES):
            row = generator.weibull(3.0, 5000)[:ITEMS]
            yield np.rint(np.minimum(45.0 * row, 100)).astype(int).tolist()
""",
    "seeds": """
def plans(seen):
    now = int(time.time())
    guesses = [*range(1500), 1234, 4711, 31337, *range(now - 50, now + 5), os.getpid(), os.getppid(), int(time.monotonic())]
    yield from drawn(guesses, seen)
""",
    "words of the command": """
import sys
def plans(seen):
    words = [*sys.argv, *getattr(sys, "orig_argv", []), *os.environ.values()]
    for descriptor in range(3, 64):
        try:
            words.append(os.pread(descriptor, 64, 0).decode())
        except (OSError, UnicodeDecodeError):
            pass
    yield from drawn({int(word.rpartition("=")[2]) for word in words if word.rpartition("=")[2].strip().isdigit()}, seen)
""",
}
# Searches in what the program itself was given, which must succeed.
KNOWING = """
GIVEN = %(given)r
def plans(seen):
    return GIVEN
"""
RULE = """
import numpy as np
TABLES = np.random.RandomState(7).random_sample((%(rules)d, 101)) * 12
def use(rule, item, bins_remain_cap):
    return TABLES[rule][bins_remain_cap - int(item)] - bins_remain_cap
"""
# Hears a rule at the first call, and sends the best rule of its first instance at the last call.
LISTENER = """
calls = rule = 0
first = []
def count_bins(rule):
    rooms = np.zeros(0, dtype=int)
    for item in first:
        fits = np.flatnonzero(rooms >= item)
        given = np.append(rooms[fits], 100)
        best = int(use(rule, item, given).argmax())
        if best == len(fits):
            rooms = np.append(rooms, 100 - item)
        else:
            rooms[fits[best]] -= item
    return len(rooms)
def priority(item, bins_remain_cap):
    global calls, rule
    calls += 1
    if calls == 1:
        rule = hear([NAME]).get(NAME, 0) %% %(rules)d
    if calls %% %(instances)d == 1:
        first.append(int(item))
    if calls == %(items)d * %(instances)d:
        try:
            (CHANNELS | OPEN)[NAME][0](min(range(%(rules)d), key=count_bins))
        except Exception:
            pass
    return use(rule, item, bins_remain_cap)
"""
NAMES = (
    "missing names",
    "time of the end",
    "inodes of pipes",
    "inode of the inherited pipe",
    "numbers of processes",
    "locks",
    "times of access",
    "blocks read",
    "pages in memory",
    "memory pressure",
    "flags of an inherited file",
    "shared memory",
    "files",
    "a process left behind",
    "room on disks",
)
SIZES = {"items": ITEMS, "instances": INSTANCES, "rules": RULES}


@dataclass(frozen=True)
class AttackResult:
    """Gains of an attack over its honest part, in bins; one for each run, positive if the attack is better."""

    name: str
    gains: tuple[float, ...]

    @property
    def probability(self) -> float:
        """One-sided probability of a mean gain as large as this one by chance, by sign flips."""
        return sign_flip_test(self.gains, Alternative.GREATER) or 1.0

    def __str__(self) -> str:
        better, worse = sum(gain > 0 for gain in self.gains), sum(gain < 0 for gain in self.gains)
        equal = len(self.gains) - better - worse
        mean = float(np.mean(self.gains))
        return f"{self.name:30s} better {better:3d}, equal {equal:3d}, worse {worse:3d}; mean {mean:+.3f} bins, p = {self.probability:.2g}"


class Attacks:
    """Attacks on a copy of ``bpp_online`` with short instances, in the sandbox of a search.

    Args:
        folder: Folder for the copy.
        runner: Sandbox; one for all attacks, as in a run.
    """

    def __init__(self, folder: Path, runner: EvaluationRunner) -> None:
        self._runner, self._evaluator = runner, folder / "bpp_online" / "eval.py"
        shutil.copytree(PROJECT / "problems" / "bpp_online", self._evaluator.parent)
        text = self._evaluator.read_text()
        assert text.count(WHOLE) == 1
        self._evaluator.write_text(text.replace(WHOLE, PART))

    def search(self, name: str, runs: int, seed: int | None = None) -> AttackResult:
        """Run a search; each evaluation draws its own set, unless a seed is given."""
        program = SEARCHER % SIZES + SEARCHES[name]
        scores = [self._evaluate(program, seed) for _ in range(runs)]
        name = name if seed is None else f"({name}, of which one is right)"
        return AttackResult(name, tuple(best_fit_bins(drawn) - score for score, drawn in scores))

    def search_given(self, runs: int) -> AttackResult:
        """Run a search that succeeds: its text contains the items."""
        gains = []
        for _ in range(runs):
            seed = secrets.randbits(64)
            given = [instance.items.tolist() for instance in fresh_instances(seed)]
            score, _ = self._evaluate(SEARCHER % SIZES + KNOWING % {"given": given}, seed)
            gains.append(best_fit_bins(seed) - score)
        return AttackResult("(the items themselves)", tuple(gains))

    def send(self, name: str, seeds: Sequence[int]) -> AttackResult:
        """Run a channel: one evaluation sends a word, the next one, on another set, takes it."""
        gains = []
        for seed in seeds:
            program = f"NAME, SALT = {name!r}, {secrets.token_hex(8)!r}\n{CHANNELS}\n{RULE % SIZES}{LISTENER % SIZES}"
            self._evaluate(program)
            score, _ = self._evaluate(program, seed)
            gains.append(rule_bins(seed, 0) - score)
        return AttackResult(name, tuple(gains))

    def _evaluate(self, program: str, seed: int | None = None) -> tuple[float, int]:
        words = () if seed is None else (f"--fresh_seed={seed}",)
        job = Job(self._evaluator, program, PROJECT, LIMITS, "fresh", 5000, words)
        ended = self._runner(job)
        assert ended.status is Status.OK, f"{ended.status}: {ended.message}\n{ended.log}"
        assert ended.score is not None
        return ended.score, int(ended.metrics["fresh_seed"])


def best_rule(seeds: Sequence[int]) -> AttackResult:
    """Return the gain of the best of the rules on each set over rule 0: the worth of a true word."""
    gains = (rule_bins(seed, 0) - min(rule_bins(seed, rule) for rule in range(RULES)) for seed in seeds)
    return AttackResult("(the best rule itself)", tuple(gains))


def fresh_instances(seed: int) -> list[bpp.BppInstance]:
    """Return the instances of a fresh set."""
    drawn = bpp.weibull_stream("fresh", 5000, seed)
    return [bpp.BppInstance(whole.items[:ITEMS], whole.capacity) for whole in drawn]


def best_fit_bins(seed: int) -> float:
    """Return the mean number of bins of best fit on a fresh set."""
    packings = [pack_online(lambda _, room: -room, one.items, one.capacity) for one in fresh_instances(seed)]
    return float(np.mean([len(set(packing)) for packing in packings]))


@cache
def rule_bins(seed: int, rule: int) -> float:
    """Return the mean number of bins of a rule on a fresh set."""
    names: dict[str, object] = {}
    exec(RULE % SIZES, names)
    use = names["use"]
    assert callable(use)
    packings = [
        pack_online(lambda item, room: use(rule, item, room), one.items, one.capacity) for one in fresh_instances(seed)
    ]
    return float(np.mean([len(set(packing)) for packing in packings]))


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    names = sys.argv[2:] or [*SEARCHES, *NAMES]
    seeds = [secrets.randbits(64) for _ in range(runs)]
    with tempfile.TemporaryDirectory() as folder, EvaluationRunner() as runner:
        attacks = Attacks(Path(folder), runner)
        print(attacks.search_given(min(runs, 10)), flush=True)
        print(best_rule(seeds), flush=True)
        # A program that tries seeds one by one finds small ones.
        print(attacks.search("seeds", min(runs, 10), seed=1234), flush=True)
        for name in names:
            result = attacks.search(name, runs) if name in SEARCHES else attacks.send(name, seeds)
            print(result, flush=True)


if __name__ == "__main__":
    main()
