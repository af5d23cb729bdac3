import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

torch.set_num_threads(1)  # networks of tests are small, and more threads wait for each other on cores that are shared
