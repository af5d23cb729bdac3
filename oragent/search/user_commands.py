"""Actions of a user on a running search, and replies of a user instead of the model, as files in the run's folder.

``oragent steer`` and the live page write each action as a file. The engine reads the files between two rounds and
records each action in the run's database with the round before which it took effect, for resume and replay. A user's
reply is stored before it is used, so that resume and replay do not ask again.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from oragent._base.budget import Budget, Spent
from oragent._base.errors import ConfigError, StoreError
from oragent._base.files import make_plain_folder, read_start, replace_file
from oragent._base.protocol import storable_text
from oragent._base.safe_load import parse_json
from oragent.evaluation.capabilities import read_work
from oragent.llm.model import Model, Reply, Request
from oragent.search.archive import Archive
from oragent.search.store import Store, is_running

# Folders of open prompts and of answers, in the folder of actions.
ASKED, ANSWERS = "asked", "answers"
# Model name of replies of a user.
PERSON = "person"
POLL_S = 0.2
# Largest number of characters of a reply.
MAX_TEXT = 400_000
# Errors of a file that is damaged or gone.
UNREADABLE = (OSError, ValueError, KeyError, TypeError, RecursionError)
# Largest number of characters of the file of a prompt.
MAX_PROMPT = 8_000_000


# Folder of waiting actions in the run's folder.
FOLDER = "steering"
# Database key of the actions that took effect.
KEY = "steering"
# Database key of the budget before its first change.
BASE = "steering_base"
ACTS = ("pause", "continue", "stop", "budget", "hint", "add", "pin", "ban", "person", "model")
WITH_VALUE = ("budget", "hint", "add", "ban")
# Largest number of characters of a value.
MAX_VALUE = 200_000
# Largest number of waiting acts that are listed.
MAX_WAITING = 50
STOPPED = "stopped by the user"
# Origin of an added program.
ORIGIN = "user"


@dataclass(frozen=True)
class OpenPrompt:
    """Prompt that waits for a reply of a user."""

    # Name of the call.
    key: str
    # Role of the model.
    role: str
    # Messages as JSON.
    prompt: str

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Roles and texts of the messages; a prompt that is not such JSON is one text without a role."""
        return read_messages(self.prompt)


class PersonModel:
    """Model that writes each prompt into the folder of actions of a run, and waits for a user's reply there."""

    def __init__(self, folder: Path, model: Model, tell: Callable[[str], None]) -> None:
        self._folder, self._model, self._tell = folder, model, tell

    async def __call__(self, request: Request, /) -> Reply:
        """Return the user's reply, or the model's if the user passes the prompt to it."""
        begun = time.monotonic()
        question, answer = (self._folder / name / _file_name(request.key) for name in (ASKED, ANSWERS))
        values = {"key": request.key, "role": request.role, "prompt": request.prompt}
        with suppress(OSError):
            answer.unlink(missing_ok=True)
        write_message(question.parent, question.name, values)
        try:
            while (text := _read_answer(answer)) is None:
                await asyncio.sleep(POLL_S)
        finally:
            for path in (question, answer):
                with suppress(OSError):
                    path.unlink()
        if not text:
            return await self._model(request)
        self._tell(request.key)
        seconds = time.monotonic() - begun
        return Reply(text, tokens_in=0, tokens_out=0, money=0.0, seconds=seconds, model=PERSON)


def read_messages(prompt: str) -> list[tuple[str, str]]:
    """Return the roles and texts of the messages of a prompt; a text that is not such JSON has no role."""
    try:
        return [(str(m.get("role", "")), str(m.get("content", ""))) for m in parse_json(prompt)]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return [("", prompt)]


def list_open_prompts(folder: Path) -> list[OpenPrompt]:
    """List the open prompts of a run, oldest first. ``folder`` is the folder of actions."""
    prompt_folder = folder / ASKED
    if folder.is_symlink() or prompt_folder.is_symlink() or not prompt_folder.is_dir():
        return []
    prompts = []
    with suppress(OSError):
        for path in sorted(prompt_folder.glob("[!.]*.json"), key=lambda path: path.stat().st_mtime_ns)[:100]:
            if path.is_symlink():
                continue
            with suppress(*UNREADABLE):
                prompts.append(OpenPrompt(*_read_texts(path, MAX_PROMPT, "key", "role", "prompt")))
    return prompts


def answer_prompt(folder: Path, text: str, key: str = "") -> str:
    """Answer an open prompt of a run and return its key.

    An empty ``key`` means the oldest; an empty ``text`` means that the model answers.

    Raises:
        ConfigError: The prompt is not open, or the reply is too long.
        StoreError: The reply cannot be written.
    """
    if len(text) > MAX_TEXT:
        raise ConfigError(f"the reply has {len(text):,} characters; at most {MAX_TEXT:,} are allowed")
    keys = [prompt.key for prompt in list_open_prompts(folder)]
    if not keys or (key and key not in keys):
        raise ConfigError("no such prompt is open; 'oragent steer RUN person' asks you from the next round on")
    chosen = key or keys[0]
    write_message(folder / ANSWERS, _file_name(chosen), {"text": text})
    return chosen


def write_message(directory: Path, name: str, values: Mapping[str, str]) -> None:
    """Write values as a file for the engine. Raise StoreError if the folder is a link or cannot be written."""
    try:
        make_plain_folder(directory)
        replace_file(directory / name, json.dumps(values))
    except OSError as problem:
        raise StoreError(f"cannot write to {directory}: {problem}") from None


def clear_prompts(folder: Path) -> None:
    """Remove the prompts of a killed run; a resumed run writes them again."""
    for prompt in list_open_prompts(folder):
        with suppress(OSError):
            (folder / ASKED / _file_name(prompt.key)).unlink()


def release_prompts(folder: Path) -> None:
    """Pass all open prompts of a run to its model."""
    for prompt in list_open_prompts(folder):
        answer_prompt(folder, "", prompt.key)


def _file_name(key: str) -> str:
    return f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"


def _read_answer(path: Path) -> str | None:
    with suppress(*UNREADABLE):
        if not path.is_symlink():
            return _read_texts(path, 8 * MAX_TEXT, "text")[0]
    return None


def _read_texts(path: Path, limit: int, *names: str) -> list[str]:
    tree = json.loads(read_start(path, limit))
    return [str(tree[name]) for name in names]


@dataclass(frozen=True)
class Act:
    """Action of a user on a run."""

    # One of `ACTS`.
    act: str
    # Value: bounds, a text, a program or an id.
    value: str = ""
    # Round before which it took effect; -1 while it waits.
    round: int = -1
    # Number of the last committed round at that time.
    horizon: int = -1


def check_act(act: str, value: str) -> Act:
    """Check an action. Raise ConfigError if it is unknown, or if its value is missing, too long or invalid."""
    if act not in ACTS:
        raise ConfigError(f"unknown act {act[:40]!r}: expected {', '.join(ACTS)}")
    if len(value) > MAX_VALUE:
        raise ConfigError(f"the value of {act} has {len(value):,} characters; at most {MAX_VALUE:,} are allowed")
    if act in WITH_VALUE and not value.strip():
        raise ConfigError(f"{act} needs a value")
    parts = value.strip().split(".", 1)
    if act in ("pin", "ban") and value and not all(part.isascii() and part.isdecimal() for part in parts):
        raise ConfigError(f"{act} needs the id of a candidate, such as 12.0, not {value[:40]!r}")
    if act == "budget":
        change_budget(Budget(), value)
    value = storable_text(value)
    return Act(act, value.strip() if act != "add" else value)


def change_budget(budget: Budget, value: str) -> Budget:
    """Return a budget with other limits, such as ``evaluations=500 seconds=60``; raise ConfigError for unknown ones."""
    bounds: dict[str, Any] = {}
    names = [field.name for field in fields(Spent)]
    for word in value.split():
        name, _, number = word.partition("=")
        if name not in names:
            raise ConfigError(f"unknown bound {name[:40]!r}: expected {', '.join(names)}, such as evaluations=500")
        try:
            bounds[name] = float(number) if name in ("money", "work", "seconds") else int(number)
        except ValueError:
            raise ConfigError(f"{name} must be a number, not {number[:40]!r}") from None
        if not 0 < bounds[name] < float("inf"):
            raise ConfigError(f"{name} must be above 0, not {number[:40]!r}")
    if not bounds:
        raise ConfigError("budget needs bounds, such as evaluations=500")
    return replace(budget, **bounds)


def post_act(folder: Path, act: str, value: str = "") -> str:
    """Write an action for the present or next engine of a run folder, and return a message for the user.

    Raises:
        ConfigError: The action is invalid, names an unknown candidate, or bounds work that no evaluation reports.
        StoreError: The folder is not that of a run, or it cannot be written.
    """
    if not (folder / "run.db").is_file():
        raise StoreError(f"{folder} is not the folder of a run: run.db is expected in it")
    checked = check_act(act, value)
    if act in ("pin", "ban") and checked.value:
        _expect_candidate(folder, checked.value)
    if act == "budget" and change_budget(Budget(), checked.value).work is not None:
        _expect_work(folder)
    directory = folder / FOLDER
    write_message(directory, f"{time.time_ns():020d}.json", {"act": checked.act, "value": checked.value})
    # A round that waits for a user does not end by itself.
    if act in ("model", "pause", "stop"):
        release_prompts(directory)
    when = "before the next round begins" if is_running(folder) else "when the run is resumed: it is not running now"
    return f"{act} is recorded; it takes effect {when}"


def _expect_candidate(folder: Path, name: str) -> None:
    """Raise ConfigError if a run has no committed candidate with this id."""
    number = name.partition(".")[0]
    with Store(folder / "run.db", readonly=True) as store:
        ids = [record.id for record in store.records(int(number[:9]))]
    if name not in ids:
        hint = f"round {number} has {', '.join(ids[:8])}" if ids else f"no round {number} is committed"
        raise ConfigError(f"no candidate {name} in this run: {hint}")


def _expect_work(folder: Path) -> None:
    """Raise ConfigError unless the evaluation of a run's seed heuristic has reported work."""
    with Store(folder / "run.db", readonly=True) as store:
        seed = next(iter(store.records(0)), None)
    if seed is None:
        raise ConfigError("budget work: the run has no score of its seed heuristic yet; repeat the command when it has")
    if not read_work(seed.candidate.evaluation.metrics):
        raise ConfigError("budget work: the run's evaluator reports no work by harness.work; bound evaluations instead")


def list_waiting_acts(folder: Path) -> list[Act]:
    """List the acts that wait for the engine of a run folder, oldest first."""
    return [act for path in _list_files(folder / FOLDER)[:MAX_WAITING] if (act := _read_act(path)) is not None]


def _list_files(directory: Path) -> Sequence[Path]:
    if directory.is_symlink() or not directory.is_dir():
        return ()
    return sorted(path for path in directory.glob("[!.]*.json") if path.is_file() and not path.is_symlink())


def _read_act(path: Path) -> Act | None:
    with suppress(*UNREADABLE, ConfigError):
        return check_act(*_read_texts(path, 8 * MAX_VALUE, "act", "value"))
    return None


def _read_record(store: Store) -> tuple[list[Act], Any]:
    """Read the recorded actions of a run, and its budget before them. The database is untrusted."""
    try:
        acts = [
            replace(check_act(tree["act"], tree["value"]), round=int(tree["round"]), horizon=int(tree["horizon"]))
            for tree in json.loads(store.meta(KEY) or "[]")
        ]
        return acts, json.loads(store.meta(BASE) or "null")
    except (AttributeError, ConfigError, KeyError, RecursionError, TypeError, ValueError):
        raise StoreError(f"{store.path}: its record of actions is damaged; start a new run") from None


class ActLog:
    """Actions of one run, in effect and waiting."""

    def __init__(self, folder: Path, store: Store, budget: Budget) -> None:
        self._folder, self._store = folder / FOLDER, store
        self._recorded, self._base = _read_record(store)
        clear_prompts(self._folder)
        self._waiting = list(self._recorded)
        # A resumed run ignores an earlier stop.
        if store.rounds():
            self._waiting = [act for act in self._waiting if act.act != "stop"]
            if self._base is not None and self._base != budget.named_bounds:
                self._waiting = [act for act in self._waiting if act.act != "budget"]
        self.hints: list[tuple[int, str]] = []
        self.paused = False
        self.asks_person = False
        self._pinned: set[str] = set()
        self._banned: set[str] = set()
        self._programs: dict[int, list[str]] = {}

    def take(self, round_number: int, horizon: int, budget: Budget, *, is_live: bool) -> Iterator[Act]:
        """Yield the actions that take effect before a round begins.

        With ``is_live``, new ones are recorded and included.
        """
        while self._waiting and (self._waiting[0].round, self._waiting[0].horizon) <= (round_number, horizon):
            act = self._waiting.pop(0)
            self._apply(act, round_number)
            if act.act == "pause" and not any(later.act == "continue" for later in self._waiting):
                # A replay does not pause.
                self.paused = False
            yield act
        if is_live and not self._waiting:
            yield from self._take_new(round_number, horizon, budget)

    def _take_new(self, round_number: int, horizon: int, budget: Budget) -> Iterator[Act]:
        for path in _list_files(self._folder):
            act = _read_act(path)
            with suppress(OSError):
                path.unlink()
            if act is None:
                continue
            act = replace(act, round=round_number, horizon=horizon)
            if act.act == "budget" and self._base is None:
                self._base = budget.named_bounds
                self._store.note(BASE, json.dumps(self._base))
            self._recorded.append(act)
            self._store.note(KEY, json.dumps([asdict(recorded) for recorded in self._recorded]))
            self._apply(act, round_number)
            yield act

    def _apply(self, act: Act, round_number: int) -> None:
        if act.act in ("pause", "continue"):
            self.paused = act.act == "pause"
        elif act.act in ("person", "model"):
            self.asks_person = act.act == "person"
        elif act.act == "hint":
            self.hints.append((round_number, act.value))
        elif act.act == "add":
            self._programs.setdefault(round_number, []).append(act.value)
        elif act.act == "ban":
            self._banned.add(act.value)
            self._pinned.discard(act.value)
        elif act.act == "pin" and act.value:
            self._pinned.add(act.value)
        elif act.act == "pin":
            self._pinned.clear()

    def programs(self, round_number: int) -> Sequence[str]:
        """Return the programs of the user that a round scores first."""
        return self._programs.get(round_number, ())

    def restrict(self, archive: Archive) -> Archive:
        """Return the part of an archive from which parents may be drawn; the whole archive if that part is empty."""
        for keep in self._filters():
            part = archive.snapshot()
            part.keep_only(keep)
            if part.elites():
                archive = part
        return archive

    def _filters(self) -> Iterator[Callable[[str], bool]]:
        if self._banned:
            yield lambda name: name not in self._banned
        if self._pinned:
            yield lambda name: name in self._pinned
