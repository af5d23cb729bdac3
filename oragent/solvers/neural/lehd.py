"""LEHD: a light encoder and a heavy decoder that recomputes the remaining nodes before every step.

Source: Luo et al. 2023, arXiv:2310.07985. An external bias is added to the logits after the last linear layer, as in
ReEvo (Ye et al. 2024, arXiv:2402.01145).
"""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from oragent.solvers.neural.attention import WIDTH, Layer

LAYERS = 6
# Tolerance of the remaining capacity in single precision.
SLACK = 1e-5
# Number of steps with constant shapes, by type of device; processors gain nothing from constant shapes.
WIDTHS = {"cpu": 1}
# The same for other devices: kernels are chosen and memory is allocated once per this many steps.
BUCKET = 32
# Types of devices without asynchronous execution, so that reading a value costs nothing.
WAITING = {"cpu"}
AGAIN = (
    # If reading a value is costly, at most one in this many decisions is repeated at once; if more are close, all are
    # repeated.
    4
)
# In bfloat16, a decision whose best logit leads by less than this is repeated in single precision.
DOUBT = 0.3


class Encoder(nn.Module):
    """One layer over all nodes, computed once."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.embedding = nn.Linear(inputs, WIDTH)
        self.layers = nn.ModuleList([Layer(normalised=False)])

    def forward(self, inputs: Tensor) -> Tensor:
        """Map ``(batch, n, inputs)`` to ``(batch, n, 128)``."""
        # Sums stay in single precision.
        x: Tensor = self.layers[0](self.embedding(inputs).float())
        return x

    def exact(self, inputs: Tensor) -> Tensor:
        """Encode in single precision even under autocast, because every step uses the result."""
        with torch.autocast(inputs.device.type, enabled=False):
            encoded: Tensor = self(inputs)
        return encoded


class LehdDecoder(nn.Module):
    """Six layers over first node, remaining nodes and last node; then one or two logits per remaining node."""

    def __init__(self, extra: int, outputs: int) -> None:
        super().__init__()
        self.embedding_first_node = nn.Linear(WIDTH + extra, WIDTH)
        self.embedding_last_node = nn.Linear(WIDTH + extra, WIDTH)
        self.layers = nn.ModuleList(Layer(normalised=False) for _ in range(LAYERS))
        self.Linear_final = nn.Linear(WIDTH, outputs)

    def forward(self, first: Tensor, remaining: "Left", last: Tensor) -> Tensor:
        """Return the logits of the remaining nodes.

        Args:
            first: ``(batch, 1, 128 + extra)`` node where the tour is to end, with the remaining capacity for routes.
            remaining: Remaining nodes, ``k`` of them.
            last: ``(batch, 1, 128 + extra)`` current node.

        Returns:
            ``(batch, k, outputs)`` logits.
        """
        entry = self._entry
        ends = torch.cat((self.embedding_first_node(first), self.embedding_last_node(last)), 1).float()
        parts = zip((remaining.nodes, *remaining.projected), (ends, *entry.project(ends)), strict=True)
        mask = remaining.mask
        x, queries, keys, values = (torch.cat(part, 1) for part in parts)
        x = entry.finish(x, queries, keys, values, mask)
        for layer in self.layers[1:]:
            x = layer(x, mask)
        out: Tensor = self.Linear_final(x[:, :-2])
        return out

    def left(self, nodes: Tensor, names: Tensor | None = None, shut: Tensor | None = None) -> "Left":
        """Prepare nodes ``(batch, k, 128)``: their projections in the first layer are the same in all steps."""
        if names is None:
            names = torch.arange(nodes.shape[1], device=nodes.device).repeat(len(nodes), 1)
        return Left(nodes, names, self._entry.project(nodes), shut)

    @property
    def _entry(self) -> Layer:
        return cast(Layer, self.layers[0])


class Left:
    """Unvisited nodes, with their queries, keys and values in the decoder's first layer.

    Visited nodes are removed at once, or only masked until a bucket of them is full, so that shapes stay constant.
    """

    def __init__(
        self, nodes: Tensor, names: Tensor, projected: tuple[Tensor, Tensor, Tensor], shut: Tensor | None = None
    ) -> None:
        # Nodes ``(batch, w, 128)``, of which ``count`` are unvisited, and their names ``(batch, w)``.
        self.nodes, self.names = nodes, names
        # Queries, keys and values, ``(batch, w, 128)`` each.
        self.projected = projected
        # Mask, ``(batch, w)`` float, 0 for unvisited and -inf for visited nodes; None if all are unvisited.
        self.shut = shut
        self.count = names.shape[1]
        self._bucket = WIDTHS.get(nodes.device.type, BUCKET)

    @property
    def mask(self) -> Tensor | None:
        """Return the ``(batch, 1, w + 2)`` mask of the nodes and the two ends; None allows all."""
        if self.shut is None:
            return None
        return functional.pad(self.shut, (0, 2))[:, None]

    def drop(self, places: Tensor) -> Tensor:
        """Remove one node of each instance, by its position ``(batch,)``; return the names of these nodes."""
        chosen = self.names.gather(1, places[:, None])
        self.count -= 1
        if self._bucket == 1:
            step = torch.arange(self.count, device=places.device)
            self._keep(step + (step >= places[:, None]))
            return chosen.squeeze(1)
        shut = torch.zeros_like(self.names, dtype=torch.float32) if self.shut is None else self.shut
        self.shut = shut.scatter(1, places[:, None], -torch.inf)
        if self.count % self._bucket == 0:
            self._keep((self.shut < 0).to(torch.int8).argsort(dim=1, stable=True)[:, : self.count])
            self.shut = None
        return chosen.squeeze(1)

    def some(self, rows: Tensor, decoder: LehdDecoder) -> "Left":
        """Return the remaining nodes of some instances of the batch, with new projections."""
        return decoder.left(self.nodes[rows], self.names[rows], None if self.shut is None else self.shut[rows])

    def _keep(self, order: Tensor) -> None:
        wide = order[..., None].expand(-1, -1, WIDTH)
        self.nodes, self.names = self.nodes.gather(1, wide), self.names.gather(1, order)
        queries, keys, values = (part.gather(1, wide) for part in self.projected)
        self.projected = queries, keys, values


Score = Callable[[Left, slice | Tensor], Tensor]


class Chooser:
    """Choice of the next node of each instance of a batch, step by step.

    Under autocast in bfloat16 all close decisions are repeated in single precision. Otherwise rounding errors would
    accumulate over a tour. A processor reads which decisions are close. On other devices such a read would wait at
    every step, so a fixed share of the closest decisions is repeated, and ``missed`` counts the close ones beyond
    them, for one read at the end.

    ``score`` returns logits ``(batch, k)``, -inf for masked nodes, from the remaining nodes and the indices of their
    instances.
    """

    def __init__(self, decoder: LehdDecoder, score: Score) -> None:
        self._decoder, self._score = decoder, score
        self._missed: Tensor | None = None

    def __call__(self, remaining: Left) -> Tensor:
        """Return the positions ``(batch,)`` of the largest logits, the first on ties."""
        logits = self._score(remaining, slice(None))
        kind = logits.device.type
        if torch.is_autocast_enabled(kind) and logits.shape[1] > 1:
            best, second = logits.topk(2).values.unbind(1)
            lead = best - second
            if kind in WAITING:
                close = (lead < DOUBT).nonzero().squeeze(1)
                if len(close):
                    logits[close] = self._again(remaining, close)
            else:
                few = lead.topk(-(-len(lead) // AGAIN), largest=False).indices
                near = (lead[few] < DOUBT)[:, None]
                logits[few] = torch.where(near, self._again(remaining, few), logits[few])
                missed = (lead < DOUBT).sum() - near.sum()
                if self._missed is None:
                    self._missed = missed
                else:
                    self._missed = self._missed + missed
        return logits.argmax(1)

    @property
    def missed(self) -> bool:
        """True if a close decision was not repeated; the only synchronisation with the device."""
        return self._missed is not None and bool(self._missed > 0)

    def _again(self, remaining: Left, rows: Tensor) -> Tensor:
        with torch.autocast(remaining.nodes.device.type, enabled=False):
            return self._score(remaining.some(rows, self._decoder), rows)


def surely(build: Callable[[], tuple[Tensor, Chooser]], kind: str) -> Tensor:
    """Build solutions; if a close decision was missed, build all again in single precision."""
    built, chooser = build()
    if chooser.missed:
        with torch.autocast(kind, enabled=False):
            built, _ = build()
    return built


class TspLehd(nn.Module):
    """Network for the travelling salesman problem; its parameters have the names of the official checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder(2)
        self.decoder = LehdDecoder(extra=0, outputs=1)
        # Unused, but contained in official checkpoints.
        self.decoder.k_1 = nn.Linear(WIDTH, WIDTH)

    def forward(self, coordinates: Tensor, start: int = 0, bias: Tensor | None = None) -> Tensor:
        """Build tours greedily.

        Args:
            coordinates: ``(batch, n, 2)`` in the unit square.
            start: First city.
            bias: ``(batch, n, n)``, added to the logits of row ``current``.

        Returns:
            ``(batch, n)`` cities.
        """
        return surely(lambda: self._build(coordinates, start, start, bias), coordinates.device.type)

    def complete(self, coordinates: Tensor, bias: Tensor | None = None) -> Tensor:
        """Find a path from the first of these cities to the last, through all of them.

        Args:
            coordinates: ``(batch, k, 2)``; the first and the last may be the same city.
            bias: ``(batch, k, k)``, as for ``forward``.

        Returns:
            ``(batch, k)`` positions of the cities, from 0 to ``k - 1``.
        """
        last = coordinates.shape[1] - 1
        return surely(lambda: self._build(coordinates, 0, last, bias), coordinates.device.type)

    def _build(self, coordinates: Tensor, start: int, end: int, bias: Tensor | None) -> tuple[Tensor, Chooser]:
        """Build paths from one city to another through all cities; return them and the chooser."""
        encoded = self.encoder.exact(coordinates)
        remaining = self.decoder.left(encoded)
        batch = torch.arange(len(encoded), device=encoded.device)
        first = encoded[:, end, None]
        if end != start:
            # The end has the last position, so that its removal changes no other position.
            remaining.drop(torch.full_like(batch, end))
        current = remaining.drop(torch.full_like(batch, start))
        tour = [current]

        def score(candidates: Left, rows: slice | Tensor) -> Tensor:
            last = encoded[batch[rows], current[rows], None]
            logits: Tensor = self.decoder(first[rows], candidates, last).squeeze(-1).float()
            if candidates.shut is not None:
                logits = logits + candidates.shut
            if bias is None:
                return logits
            return logits + bias[batch[rows], current[rows]].gather(1, candidates.names)

        choose = Chooser(self.decoder, score)
        while remaining.count:
            current = remaining.drop(choose(remaining))
            tour.append(current)
        if end != start:
            tour += [torch.full_like(batch, end)]
        return torch.stack(tour, 1), choose

    def first_scores(self, coordinates: Tensor) -> Tensor:
        """Return the logits ``(batch, n - 1)`` of the first decision, from city 0."""
        encoded = self.encoder(coordinates)
        logits: Tensor = self.decoder(encoded[:, :1], self.decoder.left(encoded[:, 1:]), encoded[:, :1])
        return logits.squeeze(-1)

    def next_logits(self, coordinates: Tensor) -> Tensor:
        """Return the logits of the next city of partial tours, for training.

        Args:
            coordinates: ``(batch, k + 2, 2)``: current city, remaining cities, city where the tour is to end.

        Returns:
            ``(batch, k)`` logits of the remaining cities.
        """
        encoded = self.encoder(coordinates)
        logits: Tensor = self.decoder(encoded[:, -1:], self.decoder.left(encoded[:, 1:-1]), encoded[:, :1])
        return logits.squeeze(-1).float()


class CvrpLehd(nn.Module):
    """Network for capacitated routing; its parameters have the names of the official checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder(3)
        self.decoder = LehdDecoder(extra=1, outputs=2)

    def forward(self, coordinates: Tensor, demands: Tensor, bias: Tensor | None = None) -> Tensor:
        """Build routes greedily.

        Args:
            coordinates: ``(batch, n, 2)`` in the unit square, depot first.
            demands: ``(batch, n)`` shares of the capacity, 0 at the depot.
            bias: ``(batch, n, n)``, the row of ``current`` is added to both logits of a customer.

        Returns:
            ``(batch, n - 1, 2)``: customers in order, and for each whether it is reached via the depot.
        """
        return surely(lambda: self._build(coordinates, demands, bias), coordinates.device.type)

    def complete(self, coordinates: Tensor, demands: Tensor, room: Tensor, bias: Tensor | None = None) -> Tensor:
        """Serve the remaining customers, from the current end of a route.

        Args:
            coordinates: ``(batch, k + 2, 2)``: depot, remaining customers, current node, which may be the depot.
            demands: ``(batch, k + 2)`` shares of the capacity, 0 at the depot.
            room: ``(batch,)`` free share of the capacity.
            bias: ``(batch, k + 2, k + 2)``, as for ``forward``.

        Returns:
            ``(batch, k, 2)``: positions of the customers, 1 to ``k``, and for each whether it is reached via the depot.
        """
        return surely(lambda: self._build(coordinates, demands, bias, room), coordinates.device.type)

    def _build(
        self, coordinates: Tensor, demands: Tensor, bias: Tensor | None, begun: Tensor | None = None
    ) -> tuple[Tensor, Chooser]:
        """Serve all customers, from the last node with free capacity ``begun`` if given; return routes and chooser."""
        encoded = self.encoder.exact(torch.cat((coordinates, demands[..., None]), -1))
        remaining = self.decoder.left(encoded)
        batch = torch.arange(len(encoded), device=encoded.device)
        room = torch.ones_like(demands[:, 0]) if begun is None else begun
        stands = None if begun is None else remaining.drop(torch.full_like(batch, encoded.shape[1] - 1))
        depot = remaining.drop(torch.zeros_like(batch))
        current = depot if stands is None else stands
        path = []

        def score(left: Left, rows: slice | Tensor) -> Tensor:
            last = encoded[batch[rows], current[rows], None]
            logits = self._scores(encoded[rows, :1], left, last, room[rows])
            if left.shut is not None:
                logits = logits + left.shut[..., None]
            if bias is not None:
                logits = logits + bias[batch[rows], current[rows]].gather(1, left.names)[..., None]
            # All direct choices come first, as in the original.
            return logits.transpose(1, 2).flatten(1)

        choose = Chooser(self.decoder, score)
        while remaining.count:
            width = remaining.names.shape[1]
            best = choose(remaining)
            arrived = remaining.drop(best % width)
            demand = demands.gather(1, arrived[:, None]).squeeze(1)
            # The first customer is always reached from the depot, and one that does not fit only via the depot.
            home = (best >= width) | (current == 0) | (demand > room + SLACK)
            room = torch.where(home, 1.0, room) - demand
            current = arrived
            path.append(torch.stack((current, home.long()), 1))
        return torch.stack(path, 1), choose

    def first_scores(self, coordinates: Tensor, demands: Tensor) -> Tensor:
        """Return the logits ``(batch, n - 1)`` of the first decision, via the depot."""
        encoded = self.encoder(torch.cat((coordinates, demands[..., None]), -1))
        remaining = self.decoder.left(encoded[:, 1:])
        return self._scores(encoded[:, :1], remaining, encoded[:, :1], torch.ones_like(demands[:, 0]))[..., 1]

    def next_logits(self, inputs: Tensor, room: Tensor) -> Tensor:
        """Return the logits of the next customer of partial routes, for training.

        Args:
            inputs: ``(batch, k + 2, 3)`` coordinates and demands of the current node, remaining customers, and the
                depot.
            room: ``(batch,)`` free share of the capacity.

        Returns:
            ``(batch, 2 * k)`` logits: all customers reached directly, then all via the depot.
        """
        encoded = self.encoder(inputs)
        logits = self._scores(encoded[:, -1:], self.decoder.left(encoded[:, 1:-1]), encoded[:, :1], room)
        return logits.transpose(1, 2).flatten(1)

    def _scores(self, depot: Tensor, remaining: Left, last: Tensor, room: Tensor) -> Tensor:
        free = room[:, None, None]
        logits: Tensor = self.decoder(torch.cat((depot, free), -1), remaining, torch.cat((last, free), -1))
        return logits.float()
