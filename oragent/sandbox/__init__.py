"""The border: start an evaluation, bound it, end it, read its result."""

from oragent.sandbox.limits import Limits

__all__ = ["Limits"]
