"""Language models: what they are asked and answer, who makes them, and stand-ins that need no server."""

from oragent.llm.callable import wrapped
from oragent.llm.client import ModelClient
from oragent.llm.command import CommandModel
from oragent.llm.factory import Models, open_models
from oragent.llm.keys import taken_key
from oragent.llm.model import Learner, Message, Model, Reply, Request, Tool, ToolCall
from oragent.llm.model_settings import ModelSettings
from oragent.llm.prices import Price, Prices
from oragent.llm.scripted import Scripted
from oragent.programs.replies import extract_code, extract_json

__all__ = [
    "CommandModel",
    "Learner",
    "Message",
    "Model",
    "ModelClient",
    "ModelSettings",
    "Models",
    "Price",
    "Prices",
    "Reply",
    "Request",
    "Scripted",
    "Tool",
    "ToolCall",
    "extract_code",
    "extract_json",
    "open_models",
    "taken_key",
    "wrapped",
]
