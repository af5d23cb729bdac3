"""Extraction of a program, or JSON, from a model's reply in any format.

A child process with limits (``parser_worker``) reads the reply. Each failure is a ``ReplyError`` with a text for the
model.
"""

import json
from typing import Any

from oragent._base.errors import ReplyError
from oragent.programs import inspection, parser_client, size_limits
from oragent.programs.parser_client import ParseLimitExceeded
from oragent.programs.syntax import Signature, signature_to_json


def extract_code(text: str, function: str, parent: str | None = None, signature: Signature | None = None) -> str:
    """Extract the program of a reply: the last one that defines ``function`` at its top level.

    A reply may have one or several fenced blocks, with any tag, or none. It may lack the last fence, think aloud, omit
    imports and helpers that are in another block or in the parent, or answer with SEARCH/REPLACE edits of the parent.

    With a signature, the same request also inspects the program, unless the signature has a frame. The returned source
    ends with one newline.

    Raises:
        ReplyError: The reply has no such program.
    """
    fields: dict[str, Any] = {
        "function": function,
        "parent": parent,
        "signature": None if signature is None else signature_to_json(signature),
    }
    look = signature is not None and not signature.frame
    try:
        answer = _request_answer("code", text, **fields, look=look)
    except ReplyError:
        # The inspection of the program, not the reply, may exceed the limits.
        answer = _request_answer("code", text, **fields, look=False)
    source = _read_text(answer, "source")
    if len(source) > size_limits.MAX_REPLY + size_limits.MAX_BYTES:
        raise ReplyError("the program in the reply is too long; write a shorter one")
    if signature is not None:
        inspection.prime_cache(source, signature, answer.get("inspected"))
    return source


def apply_edits(text: str, parent: str) -> str:
    """Apply the SEARCH/REPLACE edits of a reply to a text of any kind; a `ReplyError` if they do not fit."""
    source = _read_text(_request_answer("edits", text, parent=parent), "source")
    if len(source) > size_limits.MAX_REPLY + len(parent):
        raise ReplyError("the text is too long after the edits; write shorter ones")
    return source


def extract_json(text: str) -> Any:
    """Extract the first JSON object or array of a reply.

    Fenced blocks that start with JSON take precedence over other blocks, and blocks over prose. Trailing commas, and
    line breaks inside strings, are accepted.

    Raises:
        ReplyError: The reply has no JSON, or it is cut off.
    """
    try:
        return json.loads(_read_text(_request_answer("json", text), "value"))
    except (ValueError, RecursionError):
        raise ReplyError("the JSON in the reply cannot be read; answer with plain JSON") from None


def _request_answer(kind: str, text: str, **fields: Any) -> dict[str, Any]:
    if len(text) > size_limits.MAX_REPLY:
        raise ReplyError(
            f"the reply has {len(text):,} characters, at most {size_limits.MAX_REPLY:,} are read; write a shorter one"
        )
    try:
        return parser_client.request(kind, text=text, **fields)
    except ParseLimitExceeded as hopeless:
        raise ReplyError(str(hopeless)) from None


def _read_text(answer: dict[str, Any], field: str) -> str:
    if isinstance(problem := answer.get("problem"), str):
        raise ReplyError(problem)
    if not isinstance(value := answer.get(field), str):
        raise ReplyError("the reply cannot be read; write a simpler one")
    return value
