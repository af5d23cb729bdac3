"""LEHD: a light encoder and a heavy decoder that looks anew at what is left before every step.

Source: Luo et al. 2023, arXiv:2310.07985. A bias from outside is added to the logits after the last linear layer, as in
ReEvo (Ye et al. 2024, arXiv:2402.01145).
"""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from oragent.solvers.neural.attention import WIDTH, Layer

LAYERS = 6
# remaining capacity in single precision
SLACK = 1e-5
# by kind of device, steps for which shapes stay as they are; processors gain nothing from that
WIDTHS = {"cpu": 1}
# likewise on any other: kernels are chosen, and memory is asked for, once in so many steps
BUCKET = 32
# kinds of devices that the program does not run ahead of, so that looking at a value costs nothing
WAITING = {"cpu"}
AGAIN = (
    # where it costs, one in so many close decisions, at most, is made again at once; where more are close, all is
    4
)
# in bfloat16, the lead of the best logit below which a decision is made again in single precision
DOUBT = 0.3


class Encoder(nn.Module):
    """One layer over all nodes, seen once."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.embedding = nn.Linear(inputs, WIDTH)
        self.layers = nn.ModuleList([Layer(normalised=False)])

    def forward(self, inputs: Tensor) -> Tensor:
        """Map ``(batch, n, inputs)`` to ``(batch, n, 128)``."""
        # sums stay in single precision
        x: Tensor = self.layers[0](self.embedding(inputs).float())
        return x

    def exact(self, inputs: Tensor) -> Tensor:
        """The same in single precision, autocast or not: it is computed once, and every step looks at it."""
        with torch.autocast(inputs.device.type, enabled=False):
            encoded: Tensor = self(inputs)
        return encoded


class LehdDecoder(nn.Module):
    """Six layers over the first node, the nodes left, and the last node; then one or two logits a node left."""

    def __init__(self, extra: int, outputs: int) -> None:
        super().__init__()
        self.embedding_first_node = nn.Linear(WIDTH + extra, WIDTH)
        self.embedding_last_node = nn.Linear(WIDTH + extra, WIDTH)
        self.layers = nn.ModuleList(Layer(normalised=False) for _ in range(LAYERS))
        self.Linear_final = nn.Linear(WIDTH, outputs)

    def forward(self, first: Tensor, remaining: "Left", last: Tensor) -> Tensor:
        """Score the nodes left.

        Args:
            first: ``(batch, 1, 128 + extra)`` where the tour is to end, with the remaining capacity where there is one.
            remaining: Nodes left, ``k`` of them.
            last: ``(batch, 1, 128 + extra)`` where the tour stands.

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
        """Prepare nodes ``(batch, k, 128)``: what the first layer makes of them stays the same for all steps."""
        if names is None:
            names = torch.arange(nodes.shape[1], device=nodes.device).repeat(len(nodes), 1)
        else:
            names = names
        return Left(nodes, names, self._entry.project(nodes), shut)

    @property
    def _entry(self) -> Layer:
        return cast(Layer, self.layers[0])


class Left:
    """Nodes not yet visited, with their queries, keys and values in the decoder's first layer.

    Visited ones are taken out at once, or only shut until a bucket of them is full, so that shapes stay the same.
    """

    def __init__(
        self, nodes: Tensor, names: Tensor, projected: tuple[Tensor, Tensor, Tensor], shut: Tensor | None = None
    ) -> None:
        # ``(batch, w, 128)``, of which ``count`` are open, and ``(batch, w)``
        self.nodes, self.names = nodes, names
        # queries, keys and values, ``(batch, w, 128)`` each
        self.projected = projected
        # ``(batch, w)`` float, 0 where open and -inf where visited; None where all are open
        self.shut = shut
        self.count = names.shape[1]
        self._bucket = WIDTHS.get(nodes.device.type, BUCKET)

    @property
    def mask(self) -> Tensor | None:
        """``(batch, 1, w + 2)``: which of the nodes, and of the two ends, a layer may look at; None: at all."""
        if self.shut is None:
            return None
        return functional.pad(self.shut, (0, 2))[:, None]

    def drop(self, places: Tensor) -> Tensor:
        """Take out one node of each instance, by its place ``(batch,)``; returns which nodes they were."""
        chosen = self.names.gather(1, places[:, None])
        self.count -= 1
        if self._bucket == 1:
            step = torch.arange(self.count, device=places.device)
            self._keep(step + (step >= places[:, None]))
            return chosen.squeeze(1)
        if self.shut is None:
            shut = torch.zeros_like(self.names, dtype=torch.float32)
        else:
            shut = self.shut
        self.shut = shut.scatter(1, places[:, None], -torch.inf)
        if self.count % self._bucket == 0:
            self._keep((self.shut < 0).to(torch.int8).argsort(dim=1, stable=True)[:, : self.count])
            self.shut = None
        return chosen.squeeze(1)

    def some(self, rows: Tensor, decoder: LehdDecoder) -> "Left":
        """The same for some instances of the batch, projected anew."""
        return decoder.left(self.nodes[rows], self.names[rows], None if self.shut is None else self.shut[rows])

    def _keep(self, order: Tensor) -> None:
        wide = order[..., None].expand(-1, -1, WIDTH)
        self.nodes, self.names = self.nodes.gather(1, wide), self.names.gather(1, order)
        queries, keys, values = (part.gather(1, wide) for part in self.projected)
        self.projected = queries, keys, values


Score = Callable[[Left, slice | Tensor], Tensor]


class Chooser:
    """Chooses the next node of each instance of a batch, step by step.

    Under autocast in bfloat16 all close decisions are made again in single precision, so that errors of rounding, which
    would otherwise add up over a tour, change hardly any of them. A processor looks which they are. To look would make
    any other device wait at every step: there the closest few are made again whatever they are, and ``missed`` counts
    the close ones beyond them, for one look at the end.

    ``score`` gives logits ``(batch, k)``, -inf for nodes that are shut, of nodes left and from which instances they
    are.
    """

    def __init__(self, decoder: LehdDecoder, score: Score) -> None:
        self._decoder, self._score = decoder, score
        self._missed: Tensor | None = None

    def __call__(self, remaining: Left) -> Tensor:
        """Places ``(batch,)`` of the largest logits, the first on ties."""
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
    """Build solutions; all over again in single precision, if a close decision was missed on the way."""
    built, chooser = build()
    if chooser.missed:
        with torch.autocast(kind, enabled=False):
            built, _ = build()
    return built


class TspLehd(nn.Module):
    """The network for the travelling salesman problem; its parameters are named as in the official checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder(2)
        self.decoder = LehdDecoder(extra=0, outputs=1)
        # takes no part; official checkpoints have it
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
        """Find a way from the first of these cities to the last, through all of them.

        Args:
            coordinates: ``(batch, k, 2)``; first and last may be one city twice.
            bias: ``(batch, k, k)``, as for ``forward``.

        Returns:
            ``(batch, k)`` places of the cities, from 0 to ``k - 1``.
        """
        last = coordinates.shape[1] - 1
        return surely(lambda: self._build(coordinates, 0, last, bias), coordinates.device.type)

    def _build(self, coordinates: Tensor, start: int, end: int, bias: Tensor | None) -> tuple[Tensor, Chooser]:
        """Go from one city to another through all, and say who chose; the end is told where it is another one."""
        encoded = self.encoder.exact(coordinates)
        remaining = self.decoder.left(encoded)
        batch = torch.arange(len(encoded), device=encoded.device)
        first = encoded[:, end, None]
        if end != start:
            # the last place, so that no other one changes
            remaining.drop(torch.full_like(batch, end))
        current = remaining.drop(torch.full_like(batch, start))
        tour = [current]

        def score(candidates: Left, rows: slice | Tensor) -> Tensor:
            last = encoded[batch[rows], current[rows], None]
            logits: Tensor = self.decoder(first[rows], candidates, last).squeeze(-1).float()
            if candidates.shut is None:
                logits = logits
            else:
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
        else:
            tour += []
        return torch.stack(tour, 1), choose

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
        self.decoder = LehdDecoder(extra=1, outputs=2)

    def forward(self, coordinates: Tensor, demands: Tensor, bias: Tensor | None = None) -> Tensor:
        """Build routes greedily.

        Args:
            coordinates: ``(batch, n, 2)`` in the unit square, depot first.
            demands: ``(batch, n)`` shares of the capacity, 0 at the depot.
            bias: ``(batch, n, n)``, the row of ``current`` is added to both logits of a customer.

        Returns:
            ``(batch, n - 1, 2)``: customers in order, and for each whether it is reached by way of the depot.
        """
        return surely(lambda: self._build(coordinates, demands, bias), coordinates.device.type)

    def complete(self, coordinates: Tensor, demands: Tensor, room: Tensor, bias: Tensor | None = None) -> Tensor:
        """Serve what is left of the customers, from where a route stands.

        Args:
            coordinates: ``(batch, k + 2, 2)``: depot, customers left, where the route stands, which may be the depot.
            demands: ``(batch, k + 2)`` shares of the capacity, 0 at the depot.
            room: ``(batch,)`` what is free of the capacity.
            bias: ``(batch, k + 2, k + 2)``, as for ``forward``.

        Returns:
            ``(batch, k, 2)``: places of the customers, 1 to ``k``, and for each whether it is reached by way of the
            depot.
        """
        return surely(lambda: self._build(coordinates, demands, bias, room), coordinates.device.type)

    def _build(
        self, coordinates: Tensor, demands: Tensor, bias: Tensor | None, begun: Tensor | None = None
    ) -> tuple[Tensor, Chooser]:
        """Serve all customers and say who chose; from the last node on, with room as begun, where that is given."""
        encoded = self.encoder.exact(torch.cat((coordinates, demands[..., None]), -1))
        remaining = self.decoder.left(encoded)
        batch = torch.arange(len(encoded), device=encoded.device)
        if begun is None:
            room = torch.ones_like(demands[:, 0])
        else:
            room = begun
        if begun is None:
            stands = None
        else:
            stands = remaining.drop(torch.full_like(batch, encoded.shape[1] - 1))
        depot = remaining.drop(torch.zeros_like(batch))
        if stands is None:
            current = depot
        else:
            current = stands
        path = []

        def score(left: Left, rows: slice | Tensor) -> Tensor:
            last = encoded[batch[rows], current[rows], None]
            logits = self._scores(encoded[rows, :1], left, last, room[rows])
            if left.shut is None:
                logits = logits
            else:
                logits = logits + left.shut[..., None]
            if bias is not None:
                logits = logits + bias[batch[rows], current[rows]].gather(1, left.names)[..., None]
            # all direct ones come first, as in the original
            return logits.transpose(1, 2).flatten(1)

        choose = Chooser(self.decoder, score)
        while remaining.count:
            width = remaining.names.shape[1]
            best = choose(remaining)
            arrived = remaining.drop(best % width)
            demand = demands.gather(1, arrived[:, None]).squeeze(1)
            # The first customer is reached from the depot anyway, and one that does not fit only by way of it.
            home = (best >= width) | (current == 0) | (demand > room + SLACK)
            room = torch.where(home, 1.0, room) - demand
            current = arrived
            path.append(torch.stack((current, home.long()), 1))
        return torch.stack(path, 1), choose

    def first_scores(self, coordinates: Tensor, demands: Tensor) -> Tensor:
        """Logits ``(batch, n - 1)`` of the first decision, by way of the depot."""
        encoded = self.encoder(torch.cat((coordinates, demands[..., None]), -1))
        remaining = self.decoder.left(encoded[:, 1:])
        return self._scores(encoded[:, :1], remaining, encoded[:, :1], torch.ones_like(demands[:, 0]))[..., 1]

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

    def _scores(self, depot: Tensor, remaining: Left, last: Tensor, room: Tensor) -> Tensor:
        free = room[:, None, None]
        logits: Tensor = self.decoder(torch.cat((depot, free), -1), remaining, torch.cat((last, free), -1))
        return logits.float()
