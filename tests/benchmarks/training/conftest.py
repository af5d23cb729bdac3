import pytest

from tests.extras import need

need("torch", "safetensors")
torch = pytest.importorskip("torch")

torch.set_num_threads(1)  # networks of tests are small, and more threads wait for each other on cores that are shared
