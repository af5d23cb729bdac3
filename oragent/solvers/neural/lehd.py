"""LEHD: a light encoder and a heavy decoder that looks anew at what is left before every step.

Source: Luo et al. 2023, arXiv:2310.07985. A bias from outside is added to the logits after the last linear layer, as in
ReEvo (Ye et al. 2024, arXiv:2402.01145).
"""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from oragent.solvers.neural.attention import WIDTH, Layer

__all__ = ["CvrpLehd", "TspLehd"]

LAYERS = 6
SLACK = 1e-5  # remaining capacity in single precision
DOUBT = 0.3  # in bfloat16, the lead of the best logit below which a decision is made again in single precision


class Encoder(nn.Module):
    """One layer over all nodes, seen once."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.embedding = nn.Linear(inputs, WIDTH)
        self.layers = nn.ModuleList([Layer(normalised=False)])

    def forward(self, inputs: Tensor) -> Tensor:
        """Map ``(batch, n, inputs)`` to ``(batch, n, 128)``."""
        x: Tensor = self.layers[0](self.embedding(inputs).float())  # sums stay in single precision
        return x

    def exact(self, inputs: Tensor) -> Tensor:
        """The same in single precision, autocast or not: it is computed once, and every step looks at it."""
        with torch.autocast(inputs.device.type, enabled=False):
            encoded: Tensor = self(inputs)
        return encoded


class Decoder(nn.Module):
    """Six layers over the first node, the nodes left, and the last node; then one or two logits a node left."""

    def __init__(self, extra: int, outputs: int) -> None:
        super().__init__()
        self.embedding_first_node = nn.Linear(WIDTH + extra, WIDTH)
        self.embedding_last_node = nn.Linear(WIDTH + extra, WIDTH)
        self.layers = nn.ModuleList(Layer(normalised=False) for _ in range(LAYERS))
        self.Linear_final = nn.Linear(WIDTH, outputs)

    def forward(self, first: Tensor, left: "Left", last: Tensor) -> Tensor:
        """Score the nodes left.

        Args:
            first: ``(batch, 1, 128 + extra)`` where the tour is to end, with the remaining capacity where there is one.
            left: Nodes left, ``k`` of them.
            last: ``(batch, 1, 128 + extra)`` where the tour stands.

        Returns:
            ``(batch, k, outputs)`` logits.
        """
        entry = self._entry
        ends = torch.cat((self.embedding_first_node(first), self.embedding_last_node(last)), 1).float()
        parts = zip((left.nodes, *left.projected), (ends, *entry.project(ends)), strict=True)
        x = entry.finish(*(torch.cat(part, 1) for part in parts))
        for layer in self.layers[1:]:
            x = layer(x)
        out: Tensor = self.Linear_final(x[:, :-2])
        return out

    def left(self, nodes: Tensor, names: Tensor | None = None) -> "Left":
        """Prepare nodes ``(batch, k, 128)``: what the first layer makes of them stays the same for all steps."""
        names = torch.arange(nodes.shape[1], device=nodes.device).repeat(len(nodes), 1) if names is None else names
        return Left(nodes, names, self._entry.project(nodes))

    @property
    def _entry(self) -> Layer:
        return cast(Layer, self.layers[0])


class Left:
    """Nodes not yet visited, with their queries, keys and values in the decoder's first layer."""

    def __init__(self, nodes: Tensor, names: Tensor, projected: tuple[Tensor, Tensor, Tensor]) -> None:
        self.nodes, self.names, self.projected = nodes, names, projected

    def drop(self, places: Tensor) -> Tensor:
        """Take out one node of each instance, by its place ``(batch,)``; returns which nodes they were."""
        chosen = self.names.gather(1, places[:, None])
        keep = torch.ones_like(self.names, dtype=torch.bool).scatter_(1, places[:, None], False)
        self.nodes, self.names = _kept(self.nodes, keep), _kept(self.names, keep)
        queries, keys, values = (_kept(part, keep) for part in self.projected)
        self.projected = queries, keys, values
        return chosen.squeeze(1)


def decide(decoder: Decoder, left: Left, score: Callable[[Left, slice | Tensor], Tensor]) -> Tensor:
    """Choose a next node for each instance of the batch.

    Under autocast in bfloat16 all close decisions are made again in single precision, so that errors of rounding, which
    would otherwise add up over a tour, change hardly any of them.

    Args:
        decoder: Decoder that projects nodes anew.
        left: Nodes left.
        score: Function from nodes left, and from which instances of the batch they are, to logits ``(batch, k)``.

    Returns:
        ``(batch,)`` places of the largest logits, the first on ties.
    """
    logits = score(left, slice(None))
    kind = logits.device.type
    if torch.is_autocast_enabled(kind) and logits.shape[1] > 1:
        best, second = logits.topk(2).values.unbind(1)
        close = (best - second < DOUBT).nonzero().squeeze(1)
        if len(close):
            with torch.autocast(kind, enabled=False):
                logits[close] = score(decoder.left(left.nodes[close], left.names[close]), close)
    return logits.argmax(1)


def _kept(values: Tensor, keep: Tensor) -> Tensor:
    return values[keep].reshape(len(keep), -1, *values.shape[2:])


class TspLehd(nn.Module):
    """The network for the travelling salesman problem; its parameters are named as in the official checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder(2)
        self.decoder = Decoder(extra=0, outputs=1)
        self.decoder.k_1 = nn.Linear(WIDTH, WIDTH)  # takes no part; official checkpoints have it

    def forward(self, coordinates: Tensor, start: int = 0, bias: Tensor | None = None) -> Tensor:
        """Build tours greedily.

        Args:
            coordinates: ``(batch, n, 2)`` in the unit square.
            start: First city.
            bias: ``(batch, n, n)``, added to the logits of row ``current``.

        Returns:
            ``(batch, n)`` cities.
        """
        encoded = self.encoder.exact(coordinates)
        left = self.decoder.left(encoded)
        batch = torch.arange(len(encoded), device=encoded.device)
        current = left.drop(torch.full_like(batch, start))
        tour, first = [current], encoded[:, start, None]

        def score(left: Left, rows: slice | Tensor) -> Tensor:
            last = encoded[batch[rows], current[rows], None]
            logits: Tensor = self.decoder(first[rows], left, last).squeeze(-1).float()
            return logits if bias is None else logits + bias[batch[rows], current[rows]].gather(1, left.names)

        while left.names.shape[1]:
            current = left.drop(decide(self.decoder, left, score))
            tour.append(current)
        return torch.stack(tour, 1)

    def first_scores(self, coordinates: Tensor) -> Tensor:
        """Logits ``(batch, n - 1)`` of the first decision, from city 0."""
        encoded = self.encoder(coordinates)
        logits: Tensor = self.decoder(encoded[:, :1], self.decoder.left(encoded[:, 1:]), encoded[:, :1])
        return logits.squeeze(-1)

    def next_logits(self, coordinates: Tensor) -> Tensor:
        """Score the next city of partial tours: where training begins.

        Args:
            coordinates: ``(batch, k + 2, 2)``: where the tour stands, the cities left, where it is to end.

        Returns:
            ``(batch, k)`` logits of the cities left.
        """
        encoded = self.encoder(coordinates)
        logits: Tensor = self.decoder(encoded[:, -1:], self.decoder.left(encoded[:, 1:-1]), encoded[:, :1])
        return logits.squeeze(-1).float()


class CvrpLehd(nn.Module):
    """The network for capacitated routing; its parameters are named as in the official checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder(3)
        self.decoder = Decoder(extra=1, outputs=2)

    def forward(self, coordinates: Tensor, demands: Tensor, bias: Tensor | None = None) -> Tensor:
        """Build routes greedily.

        Args:
            coordinates: ``(batch, n, 2)`` in the unit square, depot first.
            demands: ``(batch, n)`` shares of the capacity, 0 at the depot.
            bias: ``(batch, n, n)``, the row of ``current`` is added to both logits of a customer.

        Returns:
            ``(batch, n - 1, 2)``: customers in order, and for each whether it is reached by way of the depot.
        """
        encoded = self.encoder.exact(torch.cat((coordinates, demands[..., None]), -1))
        left = self.decoder.left(encoded)
        batch = torch.arange(len(encoded), device=encoded.device)
        current = left.drop(torch.zeros_like(batch))
        room, path = torch.ones_like(demands[:, 0]), []

        def score(left: Left, rows: slice | Tensor) -> Tensor:
            last = encoded[batch[rows], current[rows], None]
            logits = self._scores(encoded[rows, :1], left, last, room[rows])
            if bias is not None:
                logits = logits + bias[batch[rows], current[rows]].gather(1, left.names)[..., None]
            return logits.transpose(1, 2).flatten(1)  # all direct ones come first, as in the original

        while count := left.names.shape[1]:
            best = decide(self.decoder, left, score)
            arrived = left.drop(best % count)
            demand = demands[batch, arrived]
            # The first customer is reached from the depot anyway, and one that does not fit only by way of it.
            home = (best >= count) | (current == 0) | (demand > room + SLACK)
            room = torch.where(home, 1.0, room) - demand
            current = arrived
            path.append(torch.stack((current, home.long()), 1))
        return torch.stack(path, 1)

    def first_scores(self, coordinates: Tensor, demands: Tensor) -> Tensor:
        """Logits ``(batch, n - 1)`` of the first decision, by way of the depot."""
        encoded = self.encoder(torch.cat((coordinates, demands[..., None]), -1))
        left = self.decoder.left(encoded[:, 1:])
        return self._scores(encoded[:, :1], left, encoded[:, :1], torch.ones_like(demands[:, 0]))[..., 1]

    def next_logits(self, inputs: Tensor, room: Tensor) -> Tensor:
        """Score the next customer of partial routes: where training begins.

        Args:
            inputs: ``(batch, k + 2, 3)`` coordinates and demands of: where the route stands, customers left, depot.
            room: ``(batch,)`` what is free of the capacity, as a share.

        Returns:
            ``(batch, 2 * k)`` logits: all customers reached directly, then all by way of the depot.
        """
        encoded = self.encoder(inputs)
        logits = self._scores(encoded[:, -1:], self.decoder.left(encoded[:, 1:-1]), encoded[:, :1], room)
        return logits.transpose(1, 2).flatten(1)

    def _scores(self, depot: Tensor, left: Left, last: Tensor, room: Tensor) -> Tensor:
        free = room[:, None, None]
        logits: Tensor = self.decoder(torch.cat((depot, free), -1), left, torch.cat((last, free), -1))
        return logits.float()
