"""A person who answers prompts in place of the model, by files in the run's folder.

The reply is stored like any other before it is used, so that resume and replay find it again and ask nobody.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import ConfigError, StoreError
from oragent._base.files import make_plain_folder, read_start, replace_file
from oragent.llm.model import Model, Reply, Request

ASKED, ANSWERS = "asked", "answers"  # folders of open prompts and of answers, below the folder of acts
PERSON = "person"  # name of the model of such replies
POLL_S = 0.2
MAX_TEXT = 400_000  # characters of a reply
MAX_PROMPT = 8_000_000  # characters of the file of a prompt


@dataclass(frozen=True)
class OpenPrompt:
    """A prompt that waits for a person."""

    key: str  # name of the call
    role: str  # role of the model
    prompt: str  # messages as JSON


class PersonModel:
    """Writes each prompt into the folder of acts of a run, and waits for the reply that a person gives there.

    ``tell`` gets the key of each prompt that a person answered.
    """

    def __init__(self, folder: Path, model: Model, tell: Callable[[str], None]) -> None:
        self._folder, self._model, self._tell = folder, model, tell

    async def __call__(self, request: Request, /) -> Reply:
        """Return the person's reply; the model's if the person leaves the prompt to it."""
        begun = time.monotonic()
        asked, answer = (self._folder / name / _file_name(request.key) for name in (ASKED, ANSWERS))
        values = {"key": request.key, "role": request.role, "prompt": request.prompt}
        try:
            make_plain_folder(asked.parent)
            answer.unlink(missing_ok=True)
            replace_file(asked, json.dumps(values))
        except OSError as problem:
            raise StoreError(f"cannot write the prompt for a person to {asked}: {problem}") from None
        try:
            while (text := _read_answer(answer)) is None:
                await asyncio.sleep(POLL_S)
        finally:
            for path in (asked, answer):
                with suppress(OSError):
                    path.unlink()
        if not text:
            return await self._model(request)
        self._tell(request.key)
        seconds = time.monotonic() - begun
        return Reply(text, tokens_in=0, tokens_out=0, money=0.0, seconds=seconds, model=PERSON)


def list_open_prompts(folder: Path) -> list[OpenPrompt]:
    """List the prompts of a run that wait for a person, the oldest first; ``folder`` is that of acts."""
    place = folder / ASKED
    if folder.is_symlink() or place.is_symlink() or not place.is_dir():
        return []
    prompts = []
    with suppress(OSError):
        for path in sorted(place.glob("[!.]*.json"), key=lambda path: path.stat().st_mtime_ns)[:100]:
            if path.is_symlink():
                continue
            with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                tree = json.loads(read_start(path, MAX_PROMPT))
                prompts.append(OpenPrompt(str(tree["key"]), str(tree["role"]), str(tree["prompt"])))
    return prompts


def answer_prompt(folder: Path, text: str, key: str = "") -> str:
    """Answer an open prompt of a run and return its key.

    With an empty text the model answers; without a key the oldest open prompt is answered.

    Raises:
        ConfigError: if no such prompt waits, or the reply is too long.
        StoreError: if the reply cannot be written.
    """
    if len(text) > MAX_TEXT:
        raise ConfigError(f"the reply has {len(text):,} characters; at most {MAX_TEXT:,} are allowed")
    keys = [prompt.key for prompt in list_open_prompts(folder)]
    if not keys or (key and key not in keys):
        raise ConfigError("no such prompt waits; 'oragent steer RUN person' has you asked from the next round on")
    chosen = key or keys[0]
    write_message(folder / ANSWERS, _file_name(chosen), {"text": text})
    return chosen


def write_message(place: Path, name: str, values: Mapping[str, str]) -> None:
    """Write values as a file for the engine of a run.

    Raises:
        StoreError: if the folder is a link, or cannot be written.
    """
    try:
        make_plain_folder(place)
        replace_file(place / name, json.dumps(values))
    except OSError as problem:
        raise StoreError(f"cannot write to {place}: {problem}") from None


def clear_prompts(folder: Path) -> None:
    """Remove the prompts that a killed run left; it asks again when it is resumed."""
    for prompt in list_open_prompts(folder):
        with suppress(OSError):
            (folder / ASKED / _file_name(prompt.key)).unlink()


def release_prompts(folder: Path) -> None:
    """Leave all open prompts of a run to its model."""
    for prompt in list_open_prompts(folder):
        answer_prompt(folder, "", prompt.key)


def _file_name(key: str) -> str:
    return f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"


def _read_answer(path: Path) -> str | None:
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        if not path.is_symlink():
            return str(json.loads(read_start(path, 8 * MAX_TEXT))["text"])
    return None
