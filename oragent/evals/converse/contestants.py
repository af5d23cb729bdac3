"""Who takes part in an evaluation: agents, paradigms, models, tools, and prompts without a part."""

from collections.abc import Mapping, Sequence
from typing import Any

from oragent._base.errors import ConfigError
from oragent.converse.agents.prompts import PARTS
from oragent.converse.agents.registry import AGENTS, ASKING
from oragent.converse.decision import unknown_name_error
from oragent.converse.tools import EXTENDED, PAPER
from oragent.evals.converse.paradigms import Paradigm


def contestants(
    agents: Sequence[str], paradigms: Sequence[str], models: Sequence[str], tools: Sequence[str] = (PAPER,),
    ablate: Sequence[str] = (),
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """Every combination, by a name that says what is special about it.

    Raises:
        ConfigError: A name is unknown, or nobody is asked.
    """
    for name in agents:
        if name not in AGENTS:
            raise unknown_name_error(name, AGENTS, "agent")
    for name in paradigms:
        if name not in list(Paradigm):
            raise unknown_name_error(name, list(Paradigm), "paradigm")
    for name in tools:
        if name not in (PAPER, EXTENDED):
            raise unknown_name_error(name, (PAPER, EXTENDED), "set of tools")
    parts = [_part(name) for name in ablate]
    if any(name in ASKING for name in agents) and not models:
        raise ConfigError("nobody is asked: name models with --models, 'scripted' for a stand-in, or take rules")
    found: dict[str, dict[str, Any]] = {}
    for paradigm in paradigms:
        if paradigm == Paradigm.DEFAULT:
            found["default"] = _own("", paradigm, "", PAPER, "")
            continue
        for agent in agents:
            for model in models if agent in ASKING else [""]:
                for kit in tools if agent == "T-P-P" else [PAPER]:
                    for part in ["", *parts] if agent in ASKING and agent != "C-N-R" else [""]:
                        own = _own(agent, paradigm, model, kit, part)
                        found[name_of(own)] = own
    return found


def name_of(own: Mapping[str, Any]) -> str:
    """Name of a contestant by its settings."""
    if own["paradigm"] == Paradigm.DEFAULT:
        return "default"
    parts = [f"{own['agent']} {own['paradigm']}"]
    parts += [own["model"]] if own["model"] else []
    parts += [f"{own['tools']} tools"] if own["tools"] != PAPER else []
    parts += [f"without {own['without']}"] if own["without"] else []
    return ", ".join(parts)


def _own(agent: str, paradigm: str, model: str, tools: str, part: str) -> dict[str, Any]:
    return {"agent": agent, "paradigm": str(paradigm), "model": model, "tools": tools, "without": part}


def _part(name: str) -> str:
    part = name.removeprefix("prompt.")
    if part not in PARTS:
        raise unknown_name_error(name, [f"prompt.{one}" for one in PARTS], "part to leave out")
    return part
