"""Language models: the client, its ledger, and what a reply holds."""

from oragent.llm.client import Client
from oragent.llm.ledger import Ledger, Price, Prices, Tally
from oragent.llm.model import Message, Model, ModelSettings, Reply
from oragent.llm.reply import extract_code, extract_json
from oragent.llm.scripted import Scripted

__all__ = [
    "Client",
    "Ledger",
    "Message",
    "Model",
    "ModelSettings",
    "Price",
    "Prices",
    "Reply",
    "Scripted",
    "Tally",
    "extract_code",
    "extract_json",
]
