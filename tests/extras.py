"""Skip tests of optional packages where these are not installed, and say which extra has them."""

import pytest

from oragent._base.distribution import extra_install_command

__all__ = ["need"]

EXTRAS = {
    "cryptography": "cluster", "genai_prices": "models", "openai": "models", "matplotlib": "figures", "mcp": "mcp", "pulp": "formulate", "dask_jobqueue": "cluster", "distributed": "cluster", "libsumo": "driving",
    "openpyxl": "workspace",
    "pyarrow": "tables",
    "safetensors": "neural", "starlette": "web", "sumo": "driving", "torch": "neural", "traci": "driving",
}  # fmt: skip


def need(*modules: str) -> None:
    """Skip the test, or the module that is being collected, where one of these modules is not installed."""
    for module in modules:
        extra = EXTRAS[module]
        pytest.importorskip(module, reason=f"{module} is of the extra {extra!r}: {extra_install_command(extra)}")
