"""Attention layer shared by POMO and LEHD; all attention is computed here.

Names of modules are those of the official checkpoints. Source: Vaswani et al. 2017, arXiv:1706.03762, as used by Kool
et al. 2019, arXiv:1803.08475.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS, HIDDEN = 128, 8, 512
# Types of devices on which attention in bfloat16 is slower than in single precision.
SINGLE = {"cpu"}
HEAD_WIDTH = WIDTH // HEADS


def split(x: Tensor) -> Tensor:
    """Reshape ``(batch, n, 128)`` to one block per head, ``(batch, 8, n, 16)``."""
    return x.reshape(*x.shape[:-1], HEADS, HEAD_WIDTH).transpose(1, 2)


def merged(x: Tensor) -> Tensor:
    """Undo `split`."""
    return x.transpose(1, 2).flatten(2)


def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute scaled dot-product attention of every head.

    Args:
        queries: ``(batch, 8, m, 16)``.
        keys: ``(batch, 8, n, 16)``.
        values: ``(batch, 8, n, 16)``, as the keys.
        mask: ``(batch, m, n)``, 0 if a query may attend to a key, else -inf.

    Returns:
        ``(batch, m, 128)``, heads merged.
    """
    mask = None if mask is None else mask[:, None]
    if queries.dtype is torch.bfloat16 and queries.device.type not in SINGLE:
        mask = None if mask is None else mask.to(queries.dtype)
        return merged(functional.scaled_dot_product_attention(queries, keys, values, mask))
    if queries.dtype is torch.bfloat16 and torch.is_grad_enabled():
        # On CPUs in bfloat16, the backward pass of the fused kernel takes ten times as long as this code.
        scores = queries @ keys.transpose(-1, -2) * HEAD_WIDTH**-0.5
        if mask is not None:
            scores = scores + mask.to(scores.dtype)
        return merged(scores.softmax(-1, dtype=torch.float32).to(values.dtype) @ values)
    # The forward pass of the fused kernel in bfloat16 is slower than in float32.
    with torch.autocast(queries.device.type, enabled=False):
        queries, keys, values = queries.float(), keys.float(), values.float()
        return merged(functional.scaled_dot_product_attention(queries, keys, values, mask))


class Layer(nn.Module):
    """Self-attention and a feed-forward block, each with a skip connection and, in POMO, normalisation after it."""

    def __init__(self, *, normalised: bool) -> None:
        super().__init__()
        self.Wq = nn.Linear(WIDTH, WIDTH, bias=False)
        self.Wk = nn.Linear(WIDTH, WIDTH, bias=False)
        self.Wv = nn.Linear(WIDTH, WIDTH, bias=False)
        self.multi_head_combine = nn.Linear(WIDTH, WIDTH)
        self.feedForward = FeedForward()
        if normalised:
            self.addAndNormalization1 = InstanceNorm()
            self.addAndNormalization2 = InstanceNorm()
        self.normalised = normalised

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map ``(batch, n, 128)`` to the same shape; the mask is as for ``attend``."""
        return self.finish(x, *self.project(x), mask)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values of the nodes, ``(batch, n, 128)`` each; they depend only on the nodes."""
        return self.Wq(x), self.Wk(x), self.Wv(x)

    def finish(self, x: Tensor, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        """Compute the part of the layer after `project`."""
        looked = attend(split(queries), split(keys), split(values), mask)
        x = x + self.multi_head_combine(looked)
        if self.normalised:
            x = self.addAndNormalization1(x)
        x = x + self.feedForward(x)
        if self.normalised:
            return self.addAndNormalization2(x)
        return x


class FeedForward(nn.Module):
    """Two linear layers with a rectifier in between."""

    def __init__(self) -> None:
        super().__init__()
        self.W1 = nn.Linear(WIDTH, HIDDEN)
        self.W2 = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(batch, n, 128)`` to the same shape."""
        out: Tensor = self.W2(functional.relu(self.W1(x), inplace=True))
        return out


class InstanceNorm(nn.Module):
    """Normalise every channel over the nodes of an instance."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.InstanceNorm1d(WIDTH, affine=True, track_running_stats=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(batch, n, 128)`` to the same shape."""
        out: Tensor = self.norm(x.transpose(1, 2)).transpose(1, 2)
        return out
