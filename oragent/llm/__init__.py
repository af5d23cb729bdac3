"""Language models: requests and replies, clients, prices, and models without a server."""

from oragent.llm.callable import CommandModel, Scripted, wrap_function
from oragent.llm.client import ModelClient
from oragent.llm.factory import Models, open_models
from oragent.llm.keys import hide_key
from oragent.llm.model import Message, Model, Reply, Request, RoundLearner, Tool, ToolCall
from oragent.llm.model_settings import ModelSettings
from oragent.llm.prices import Price, Prices
from oragent.programs.replies import extract_code, extract_json

__all__ = [
    "CommandModel",
    "Message",
    "Model",
    "ModelClient",
    "ModelSettings",
    "Models",
    "Price",
    "Prices",
    "Reply",
    "Request",
    "RoundLearner",
    "Scripted",
    "Tool",
    "ToolCall",
    "extract_code",
    "extract_json",
    "hide_key",
    "open_models",
    "wrap_function",
]
