"""Language models: the client, its prices, and what a reply holds."""

from oragent.llm.client import Client
from oragent.llm.model import Message, Model, ModelSettings, Reply, Request, Tool, ToolCall
from oragent.llm.prices import Price, Prices
from oragent.llm.scripted import Scripted
from oragent.programs.replies import extract_code, extract_json

__all__ = [
    "Client",
    "Message",
    "Model",
    "ModelSettings",
    "Price",
    "Prices",
    "Reply",
    "Request",
    "Scripted",
    "Tool",
    "ToolCall",
    "extract_code",
    "extract_json",
]
