"""POMO: a network that encodes an instance once and then selects one node after another with a pointer.

Source: Kwon et al. 2020, POMO, arXiv:2010.16011. An external bias is added to the pointer's scores before they are
scaled and clipped, as in ReEvo (Ye et al. 2024, arXiv:2402.01145).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from oragent.solvers.neural.attention import WIDTH, Layer, attend, split

LAYERS, CLIP = 6, 10.0
# Tolerance, because demands are shares of the capacity in single precision: three thirds must fit.
SLACK = 1e-5
CLOSED = -torch.inf
# Steps between two tests whether all routes are complete, by type of device; each test waits for the device.
STEPS_BETWEEN_TESTS = {"cpu": 1}
# The same for other devices.
RARELY = 16

# Function from logits ``(batch, m, n)`` to nodes ``(batch, m)``.
Pick = Callable[[Tensor], Tensor]


def greedy(logits: Tensor) -> Tensor:
    """Return the node with the largest logit, the first on ties."""
    return logits.argmax(-1)


def sampler(generator: torch.Generator) -> Pick:
    """Draw nodes in proportion to exp of their logits."""

    def pick(logits: Tensor) -> Tensor:
        noise = torch.empty_like(logits).exponential_(generator=generator)
        return (logits.float().exp() / noise).argmax(-1)

    return pick


class DecoderMemory(NamedTuple):
    """Data of an encoded instance for decoding, computed once."""

    # Encoded nodes, the keys of the pointer, ``(batch, n, 128)``.
    nodes: Tensor
    # Keys of the glimpse, ``(batch, 8, n, 16)``.
    keys: Tensor
    # Values of the glimpse, ``(batch, 8, n, 16)``.
    values: Tensor


class PomoDecoder(nn.Module):
    """Glimpse of all heads at the open nodes, then a pointer with one head."""

    def __init__(self, extra: int) -> None:
        super().__init__()
        self.Wq_last = nn.Linear(WIDTH + extra, WIDTH, bias=False)
        self.Wk = nn.Linear(WIDTH, WIDTH, bias=False)
        self.Wv = nn.Linear(WIDTH, WIDTH, bias=False)
        self.multi_head_combine = nn.Linear(WIDTH, WIDTH)

    def remember(self, nodes: Tensor) -> DecoderMemory:
        """Compute the data that stay the same in all steps."""
        return DecoderMemory(nodes, split(self.Wk(nodes)), split(self.Wv(nodes)))

    def score(self, queries: Tensor, memory: DecoderMemory, closed: Tensor) -> Tensor:
        """Return ``(batch, m, n)`` scores of ``(batch, m, 128)`` queries with all nodes, neither scaled nor clipped."""
        looking = split(queries.to(memory.keys.dtype))
        glimpse = self.multi_head_combine(attend(looking, memory.keys, memory.values, closed))
        # Ten times tanh needs more than eight bits of precision.
        with torch.autocast(glimpse.device.type, enabled=False):
            scores: Tensor = glimpse.float() @ memory.nodes.transpose(1, 2)
        return scores

    def point(self, queries: Tensor, memory: DecoderMemory, closed: Tensor, bias: Tensor | None) -> Tensor:
        """Convert scores to logits ``(batch, m, n)``, -inf for closed nodes."""
        scores = self.score(queries, memory, closed)
        if bias is not None:
            scores = scores + bias
        return scores.mul(WIDTH**-0.5).tanh().mul(CLIP) + closed


class TspDecoder(PomoDecoder):
    """Decoder whose query also contains the first node of the tour."""

    def __init__(self) -> None:
        super().__init__(extra=0)
        self.Wq_first = nn.Linear(WIDTH, WIDTH, bias=False)


class Pomo(nn.Module):
    """Base of the two networks: step-by-step construction, and likelihood of complete paths."""

    decoder: PomoDecoder

    def encode(self, *instance: Tensor) -> "TspEncoded | CvrpEncoded":
        """Encode a batch of instances."""
        raise NotImplementedError

    def walk(
        self,
        encoded: "TspEncoded | CvrpEncoded",
        starts: Tensor,
        pick: Pick = greedy,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Complete walks from their first nodes.

        Args:
            encoded: Encoded instances.
            starts: ``(batch, m)`` first city, or customer, of each walk.
            pick: Function from logits to the next node.
            bias: ``(batch, n, n)`` bias, added to the pointer's scores of row ``current`` before scaling and clipping.

        Returns:
            ``(batch, m, k)`` nodes.
        """
        walks = encoded.begin(starts)
        taken = list(walks.begun)
        every, least = STEPS_BETWEEN_TESTS.get(starts.device.type, RARELY), walks.least
        while len(taken) < least or (len(taken) - least) % every or not walks.is_complete(len(taken)):
            row = None if bias is None else at(bias, walks.current)
            node = pick(self.decoder.point(walks.queries(), encoded.memory, walks.closed, row))
            walks.take(node)
            taken.append(node)
        return torch.stack(taken[: walks.length(len(taken))], -1)

    def first_scores(self, *instance: Tensor) -> Tensor:
        """Return scores ``(batch, open nodes)`` of the first free decision of walks that begin as greedy ones do."""
        encoded = self.encode(*instance)
        walks = encoded.begin(torch.full((len(instance[0]), 1), encoded.begun - 1, device=instance[0].device))
        scores = self.decoder.score(walks.queries(), encoded.memory, walks.closed)
        return scores[..., encoded.begun :].flatten(1)

    def log_likelihood(self, encoded: "TspEncoded | CvrpEncoded", paths: Tensor) -> Tensor:
        """Return the log-likelihood ``(batch, m)`` of paths ``(batch, m, k)`` given their starts, all steps at once."""
        begun = encoded.begun
        walks = encoded.begin(paths[:, :, begun - 1])
        query_parts, closed = [], []
        for step in range(begun, paths.shape[-1]):
            query_parts.append(walks.queries())
            closed.append(walks.closed.clone())
            walks.take(paths[:, :, step])
        queries, shut = (torch.stack(parts, 2).flatten(1, 2) for parts in (query_parts, closed))
        logits = self.decoder.point(queries, encoded.memory, shut, None)
        chosen = paths[:, :, begun:].flatten(1)[..., None]
        return logits.log_softmax(-1).gather(-1, chosen).reshape(*paths.shape[:2], -1).sum(-1)


def at(values: Tensor, nodes: Tensor) -> Tensor:
    """Return the entries ``(batch, m, k)`` of ``(batch, n, k)`` values at nodes ``(batch, m)``."""
    return values.gather(1, nodes[..., None].expand(-1, -1, values.shape[-1]))


class TspEncoder(nn.Module):
    """Encoder of coordinates."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Linear(2, WIDTH)
        self.layers = nn.ModuleList(Layer(normalised=True) for _ in range(LAYERS))

    def forward(self, coordinates: Tensor) -> Tensor:
        """Map ``(batch, n, 2)`` to ``(batch, n, 128)``."""
        # Sums stay in single precision.
        x: Tensor = self.embedding(coordinates).float()
        for layer in self.layers:
            x = layer(x)
        return x


class TspPomo(Pomo):
    """Network for the travelling salesman problem; its parameters have the names of the official checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder: TspEncoder = TspEncoder()
        self.decoder: TspDecoder = TspDecoder()

    def encode(self, *instance: Tensor) -> "TspEncoded":
        """Encode ``(batch, n, 2)`` cities in the unit square; walks are tours ``(batch, m, n)``."""
        (coordinates,) = instance
        return TspEncoded(self, self.encoder(coordinates))


class TspEncoded:
    """Encoded cities, with the parts of queries from first and last cities."""

    # Number of nodes with which a walk begins.
    begun = 1

    def __init__(self, model: TspPomo, nodes: Tensor) -> None:
        self.memory = model.decoder.remember(nodes)
        self.first: Tensor = model.decoder.Wq_first(nodes)
        self.last: Tensor = model.decoder.Wq_last(nodes)

    def begin(self, starts: Tensor) -> "TspWalks":
        """Begin tours."""
        return TspWalks(self, starts)


class TspWalks:
    """Partial tours of a batch, ``m`` per instance.

    ``begun`` contains the nodes with which all tours begin, ``(batch, m)`` each; the last ones are the starts.
    ``closed`` is ``(batch, m, n)``, 0 for nodes that a tour may visit, else -inf. A tour is incomplete with fewer than
    ``least`` nodes.
    """

    def __init__(self, encoded: TspEncoded, starts: Tensor) -> None:
        self.size = encoded.last.shape[1]
        self.least = self.size
        self.closed = torch.zeros(*starts.shape, self.size, device=starts.device)
        self.begun = [starts]
        self._first, self._last = at(encoded.first, starts), encoded.last
        self.take(starts)

    def take(self, nodes: Tensor) -> None:
        """Move to these cities."""
        self.current = nodes
        self.closed.scatter_(-1, nodes[..., None], CLOSED)

    def is_complete(self, steps: int) -> bool:
        """Return True if all cities are visited."""
        return steps == self.size

    def length(self, steps: int) -> int:
        """Number of cities of a tour."""
        return steps

    def queries(self) -> Tensor:
        """Return the queries from first and last city."""
        return self._first + at(self._last, self.current)


class CvrpEncoder(nn.Module):
    """Encoder of coordinates and demands, depot first."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding_depot = nn.Linear(2, WIDTH)
        self.embedding_node = nn.Linear(3, WIDTH)
        self.layers = nn.ModuleList(Layer(normalised=True) for _ in range(LAYERS))

    def forward(self, coordinates: Tensor, demands: Tensor) -> Tensor:
        """Map ``(batch, n, 2)`` and ``(batch, n)`` to ``(batch, n, 128)``."""
        customers = torch.cat((coordinates[:, 1:], demands[:, 1:, None]), -1)
        x = torch.cat((self.embedding_depot(coordinates[:, :1]), self.embedding_node(customers)), 1).float()
        for layer in self.layers:
            x = layer(x)
        return x


class CvrpPomo(Pomo):
    """Network for capacitated routing; parameters as in the official checkpoint (see ``weights.py``)."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder: CvrpEncoder = CvrpEncoder()
        self.decoder: PomoDecoder = PomoDecoder(extra=1)

    def encode(self, *instance: Tensor) -> "CvrpEncoded":
        """Encode depot and customers.

        Args:
            instance: ``(batch, n, 2)`` coordinates in the unit square, depot first, and ``(batch, n)`` demands as
                shares of the capacity, 0 at the depot.

        Returns:
            Instances whose walks are routes from the depot to the depot; routes that end early stay there.
        """
        coordinates, demands = instance
        return CvrpEncoded(self, self.encoder(coordinates, demands), demands)


class CvrpEncoded:
    """Encoded depot and customers, with the parts of queries from the last node and the remaining capacity."""

    begun = 2

    def __init__(self, model: CvrpPomo, nodes: Tensor, demands: Tensor) -> None:
        self.memory = model.decoder.remember(nodes)
        self.demands = demands
        weight = model.decoder.Wq_last.weight
        self.last = functional.linear(nodes, weight[:, :WIDTH])
        self.room = weight[:, WIDTH]

    def begin(self, starts: Tensor) -> "CvrpWalks":
        """Begin routes with these customers."""
        return CvrpWalks(self, starts)


class CvrpWalks:
    """Partial routes, with their free capacity."""

    def __init__(self, encoded: CvrpEncoded, starts: Tensor) -> None:
        shape = (*starts.shape, encoded.demands.shape[1])
        self._encoded = encoded
        self._demands = encoded.demands[:, None].expand(shape)
        self._room = torch.ones(starts.shape, device=starts.device)
        self._complete: list[Tensor] = []
        # All customers, and the depot at both ends.
        self.least = encoded.demands.shape[1] + 1
        self._visited = torch.zeros(shape, dtype=torch.bool, device=starts.device)
        self.closed = torch.zeros(shape, device=starts.device)
        self.begun = [torch.zeros_like(starts), starts]
        self.take(starts)

    def take(self, nodes: Tensor) -> None:
        """Move to these nodes; a visit to the depot restores the capacity."""
        home = nodes == 0
        self.current = nodes
        demand = self._demands.gather(-1, nodes[..., None]).squeeze(-1)
        self._room = torch.where(home, 1.0, self._room - demand)
        self._visited.scatter_(-1, nodes[..., None], True)
        served = self._visited[..., 1:].all(-1)
        # The depot may be repeated only after all customers are served.
        self._visited[..., 0] = home & ~served
        self._done = served & home
        self._complete.append(self._done.all())
        shut = self._visited | (self._demands > self._room[..., None] + SLACK)
        self.closed.zero_().masked_fill_(shut, CLOSED)

    def is_complete(self, steps: int) -> bool:
        """Return True if all routes have ended at the depot."""
        return bool(self._complete[-1])

    def length(self, steps: int) -> int:
        """Return the number of nodes until all routes have ended; later nodes are only repeats of the depot."""
        return steps + 1 - int(torch.stack(self._complete).sum())

    def queries(self) -> Tensor:
        """Return the queries from last node and remaining capacity."""
        return at(self._encoded.last, self.current) + self._room[..., None] * self._encoded.room
