"""Fields that results always have: one table for ``--json`` and for the output schemas of the MCP server."""

from collections.abc import Mapping

NUMBER_OR_NULL = ["number", "null"]
# JSON types of fields, by name; a name has one type everywhere.
TYPES: Mapping[str, str | list[str]] = {
    "best": "object",
    "better": "string",
    "budget": ["integer", "null"],
    "checks": "integer",
    "counts": "object",
    "entries": "array",
    "exit_code": "integer",
    "failures": ["integer", "object"],
    "file": ["string", "null"],
    "findings": "array",
    "first": "string",
    "folder": "string",
    "form": "string",
    "held": "array",
    "id": "string",
    "mechanisms": "array",
    "message": "string",
    "model": "string",
    "not_held": "array",
    "ok": "boolean",
    "page": "integer",
    "pages": "integer",
    "passed": "boolean",
    "problem": "string",
    "results": "array",
    "rows": "array",
    "run": "string",
    "score": NUMBER_OR_NULL,
    "second": "string",
    "seed": "object",
    "sentence": "string",
    "settings": "object",
    "spent": "object",
    "status": "string",
    "text": "string",
    "total": "integer",
    "verdict": "string",
}
# Fields of a document. Commands and tools with the same document have these fields, and may have more.
DOCUMENTS: Mapping[str, tuple[str, ...]] = {
    "adopted": ("settings",),
    "checked": ("passed", "findings"),
    "comparison": ("first", "second"),
    "converted": ("form",),
    "doctor": ("mechanisms", "held", "not_held"),
    "evaluation": ("status", "score"),
    "final": ("best",),
    "folder": ("folder",),
    "hardened": ("sentence",),
    "list": ("entries", "page", "pages", "total"),
    "lines": ("results",),
    "model": ("model",),
    "run": ("seed", "best", "spent"),
    "opened": ("run", "seed", "best", "spent"),
    "program": ("id", "score", "text"),
    "score": ("score",),
    "submission": ("id", "status", "score"),
    "sweep": ("rows",),
    "text": ("text",),
    "verb": ("ok",),
    "verification": ("exit_code", "verdict"),
}
# Documents of commands with --json.
COMMANDS: Mapping[str, str] = {
    "check": "checked",
    "doctor": "doctor",
    "duel": "comparison",
    "eval": "evaluation",
    "harden": "hardened",
    "model": "lines",
    "new": "folder",
    "probe": "score",
    "resume": "run",
    "run": "run",
    "show": "run",
    "sweep": "sweep",
    "workspace adopt": "adopted",
}


def make_schema(document: str) -> dict[str, object]:
    """Return the JSON schema of a document."""
    names = DOCUMENTS[document]
    return {
        "type": "object",
        "properties": {name: {"type": TYPES[name]} for name in names},
        "required": list(names),
    }
