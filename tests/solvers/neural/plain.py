"""POMO and LEHD written straight from their papers: one instance at a time, every step from scratch, no batches.

Weights come in a dictionary with the names of the official checkpoints. Slow on purpose: this is the oracle.
"""

import math

import torch

HEADS, WIDTH = 8, 128


def linear(w, name, x):
    y = x @ w[f"{name}.weight"].T
    return y + w[f"{name}.bias"] if f"{name}.bias" in w else y


def attention(q, k, v, allowed=None):
    """Multi-head attention of ``(m, 128)`` queries over ``(n, 128)`` keys, head by head."""
    parts = []
    for head in range(HEADS):
        at = slice(16 * head, 16 * head + 16)
        scores = q[:, at] @ k[:, at].T / math.sqrt(16)
        if allowed is not None:
            scores[:, ~allowed] = -math.inf
        parts.append(torch.softmax(scores, 1) @ v[:, at])
    return torch.cat(parts, 1)


def normalised(w, name, x):
    mean, variance = x.mean(0), x.var(0, correction=0)
    return (x - mean) / torch.sqrt(variance + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


def layer(w, name, x, norms=None, forward="feedForward"):
    looked = attention(*(linear(w, f"{name}.{part}", x) for part in ("Wq", "Wk", "Wv")))
    x = x + linear(w, f"{name}.multi_head_combine", looked)
    x = normalised(w, f"{name}.{norms}1.norm", x) if norms else x
    x = x + linear(w, f"{name}.{forward}.W2", torch.relu(linear(w, f"{name}.{forward}.W1", x)))
    return normalised(w, f"{name}.{norms}2.norm", x) if norms else x


def pointer(w, query, nodes, allowed, bias):
    glimpse = attention(query, linear(w, "decoder.Wk", nodes), linear(w, "decoder.Wv", nodes), allowed)
    scores = (linear(w, "decoder.multi_head_combine", glimpse) @ nodes.T)[0] + bias
    logits = 10 * torch.tanh(scores / math.sqrt(WIDTH))
    logits[~allowed] = -math.inf
    return logits


def tsp_pomo(w, points, bias, start=0):
    """A greedy tour and the logits of every step."""
    nodes = linear(w, "encoder.embedding", points)
    for number in range(6):
        nodes = layer(w, f"encoder.layers.{number}", nodes, "addAndNormalization")
    tour, history = [start], []
    while len(tour) < len(points):
        allowed = torch.tensor([city not in tour for city in range(len(points))])
        query = linear(w, "decoder.Wq_first", nodes[tour[:1]]) + linear(w, "decoder.Wq_last", nodes[tour[-1:]])
        history.append(pointer(w, query, nodes, allowed, bias[tour[-1]]))
        tour.append(int(history[-1].argmax()))
    return tour, history


def cvrp_pomo(w, points, demands, bias, start=1):
    """Greedy routes, whose first customer is given, and the logits of every step."""
    customers = torch.cat((points[1:], demands[1:, None]), 1)
    depot = linear(w, "encoder.embedding_depot", points[:1])
    nodes = torch.cat((depot, linear(w, "encoder.embedding_node", customers)))
    for number in range(6):
        nodes = layer(w, f"encoder.layers.{number}", nodes, "add_n_normalization_", "feed_forward")
    path, room, history = [0, start], 1 - demands[start], []
    while True:
        left = set(range(1, len(points))) - set(path)
        allowed = torch.tensor([node in left and bool(demands[node] <= room + 1e-5) for node in range(len(points))])
        allowed[0] = path[-1] != 0
        if not left and path[-1] == 0:
            return path, history
        query = linear(w, "decoder.Wq_last", torch.cat((nodes[path[-1]], room[None]))[None])
        history.append(pointer(w, query, nodes, allowed, bias[path[-1]]))
        path.append(int(history[-1].argmax()))
        room = torch.tensor(1.0) if path[-1] == 0 else room - demands[path[-1]]


def heavy(w, first, left, last):
    x = torch.cat(
        (linear(w, "decoder.embedding_first_node", first), left, linear(w, "decoder.embedding_last_node", last))
    )
    for number in range(6):
        x = layer(w, f"decoder.layers.{number}", x)
    return linear(w, "decoder.Linear_final", x[1:-1])


def tsp_lehd(w, points, bias, start=0):
    nodes = layer(w, "encoder.layers.0", linear(w, "encoder.embedding", points))
    tour, history = [start], []
    while len(tour) < len(points):
        left = [city for city in range(len(points)) if city not in tour]
        logits = heavy(w, nodes[tour[:1]], nodes[left], nodes[tour[-1:]])[:, 0] + bias[tour[-1], left]
        history.append(logits)
        tour.append(left[int(logits.argmax())])
    return tour, history


def cvrp_lehd(w, points, demands, bias):
    nodes = layer(w, "encoder.layers.0", linear(w, "encoder.embedding", torch.cat((points, demands[:, None]), 1)))
    path, room, current, history = [0], torch.tensor(1.0), 0, []
    while left := [node for node in range(1, len(points)) if node not in path]:
        first, last = (torch.cat((nodes[node], room[None]))[None] for node in (0, current))
        logits = heavy(w, first, nodes[left], last) + bias[current, left][:, None]
        history.append(logits)
        choice = int(torch.cat((logits[:, 0], logits[:, 1])).argmax())
        customer, home = left[choice % len(left)], choice >= len(left)
        if current == 0 or home or demands[customer] > room + 1e-5:
            room = torch.tensor(1.0)
            path += [0] if current else []
        room = room - demands[customer]
        path.append(customer)
        current = customer
    return [*path, 0], history
