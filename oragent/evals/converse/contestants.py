"""Who takes part in an evaluation: agents, paradigms, models, tools, and prompts without a part."""

from collections.abc import Mapping, Sequence
from typing import Any

from oragent._base.errors import ConfigError
from oragent.converse.agents.prompts import PARTS
from oragent.converse.agents.registry import AGENTS, ASKING
from oragent.converse.decision import unknown_name_error
from oragent.converse.tools import EXTENDED, PAPER
from oragent.evals.converse.paradigms import Paradigm


def list_contestants(
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
    parts = [_check_part(name) for name in ablate]
    if any(name in ASKING for name in agents) and not models:
        raise ConfigError("nobody is asked: name models with --models, 'scripted' for a stand-in, or take rules")
    combinations: dict[str, dict[str, Any]] = {}
    for paradigm in paradigms:
        if paradigm == Paradigm.DEFAULT:
            combinations["default"] = _contestant_settings("", paradigm, "", PAPER, "")
            continue
        for agent in agents:
            for model in models if agent in ASKING else [""]:
                for kit in tools if agent == "T-P-P" else [PAPER]:
                    for part in ["", *parts] if agent in ASKING and agent != "C-N-R" else [""]:
                        settings = _contestant_settings(agent, paradigm, model, kit, part)
                        combinations[name_of(settings)] = settings
    return combinations


def name_of(settings: Mapping[str, Any]) -> str:
    """Name of a contestant by its settings."""
    if settings["paradigm"] == Paradigm.DEFAULT:
        return "default"
    parts = [f"{settings['agent']} {settings['paradigm']}"]
    parts += [settings["model"]] if settings["model"] else []
    parts += [f"{settings['tools']} tools"] if settings["tools"] != PAPER else []
    parts += [f"without {settings['without']}"] if settings["without"] else []
    return ", ".join(parts)


def _contestant_settings(agent: str, paradigm: str, model: str, tools: str, part: str) -> dict[str, Any]:
    return {"agent": agent, "paradigm": str(paradigm), "model": model, "tools": tools, "without": part}


def _check_part(name: str) -> str:
    part = name.removeprefix("prompt.")
    if part not in PARTS:
        raise unknown_name_error(name, [f"prompt.{part}" for part in PARTS], "part to leave out")
    return part
