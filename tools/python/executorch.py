"""Compares memory plans of ExecuTorch: its naive and greedy algorithms, and ours.

    python tools/python/executorch.py [MODEL ...]

wants torch, torchvision, executorch and plimsoll-planner. Weights are random. Each program is run twice in
ExecuTorch's own runtime, and its outputs are compared bit by bit with those under its greedy plan.
"""

import copy
import logging
import sys
import warnings

sys.path.pop(0)  # This file has the name of the package that it is about.

import torch
import torchvision
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy, naive
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.constant_prop_pass import constant_prop_pass
from executorch.runtime import Runtime

import plimsoll.executorch


class Block(torch.nn.Module):
    """A layer of a decoder, with a cache of keys and values that is updated in every run."""

    def __init__(self, width, heads, most):
        super().__init__()
        self.heads, self.norms = heads, torch.nn.ModuleList(torch.nn.RMSNorm(width) for _ in range(2))
        self.qkv, self.out = torch.nn.Linear(width, 3 * width, bias=False), torch.nn.Linear(width, width)
        self.gate, self.up = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, 3 * width)
        self.down = torch.nn.Linear(3 * width, width)
        self.register_buffer("keys", torch.zeros(1, heads, most, width // heads))
        self.register_buffer("values", torch.zeros(1, heads, most, width // heads))
        self.register_buffer("mask", torch.tril(torch.ones(most, most, dtype=torch.bool)))

    def forward(self, x, positions):
        _, count, width = x.shape
        split = lambda t: t.view(1, count, self.heads, width // self.heads).transpose(1, 2)
        q, k, v = (split(t) for t in self.qkv(self.norms[0](x)).chunk(3, dim=-1))
        self.keys.index_copy_(2, positions, k)
        self.values.index_copy_(2, positions, v)
        scores = (q @ self.keys.transpose(2, 3)) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(~self.mask[positions], float("-inf"))
        heads = (torch.softmax(scores, dim=-1) @ self.values).transpose(1, 2).reshape(1, count, width)
        x = x + self.out(heads)
        h = self.norms[1](x)
        return x + self.down(torch.nn.functional.silu(self.gate(h)) * self.up(h))


class Decoder(torch.nn.Module):
    """A language model of a few layers."""

    def __init__(self, layers=4, width=256, heads=8, most=256, words=2000):
        super().__init__()
        self.embedding = torch.nn.Embedding(words, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, most) for _ in range(layers))
        self.norm, self.head = torch.nn.RMSNorm(width), torch.nn.Linear(width, words, bias=False)

    def forward(self, tokens, positions):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, positions)
        return self.head(self.norm(x))


def image(model):
    return model, (torch.randn(1, 3, 224, 224),)


def text(count):
    return Decoder(), (torch.randint(0, 2000, (1, count)), torch.arange(count))


def vit():
    vision = torchvision.models.VisionTransformer
    return image(vision(image_size=224, patch_size=16, num_layers=4, num_heads=3, hidden_dim=192, mlp_dim=768))


MODELS = {
    "mobilenet_v2": lambda: image(torchvision.models.mobilenet_v2()),
    "mobilenet_v3_small": lambda: image(torchvision.models.mobilenet_v3_small()),
    "efficientnet_b0": lambda: image(torchvision.models.efficientnet_b0()),
    "resnet18": lambda: image(torchvision.models.resnet18()),
    "squeezenet1_1": lambda: image(torchvision.models.squeezenet1_1()),
    "shufflenet_v2_x0_5": lambda: image(torchvision.models.shufflenet_v2_x0_5()),
    "densenet121": lambda: image(torchvision.models.densenet121()),
    "vit_tiny, 4 layers": vit,
    "decoder with a cache, 1 token": lambda: text(1),
    "decoder with a cache, 64 tokens": lambda: text(64),
    "decoder with a cache, 1 token, weights folded": lambda: text(1),
    "decoder with a cache, 64 tokens, weights folded": lambda: text(64),
}

#: Name, algorithm, and whether the nodes are put into a better order before.
WAYS = [
    ("naive", lambda: MemoryPlanningAlgorithmSuite([naive]), False),
    ("greedy", lambda: MemoryPlanningAlgorithmSuite([greedy]), False),
    ("packed", lambda: plimsoll.executorch.planner(in_place=False, early_write_back=False), False),
    ("in place", lambda: plimsoll.executorch.planner(early_write_back=False), False),
    ("and in order", lambda: plimsoll.executorch.planner(), True),
]


def measured(exported, inputs, algorithm, is_reordered, is_folded):
    """The bytes of the planned arena, and the outputs of two runs."""
    edge = to_edge(copy.deepcopy(exported))
    if is_folded:
        edge._edge_programs["forward"] = constant_prop_pass(edge.exported_program())
    if is_reordered:
        plimsoll.executorch.reorder(edge)
    planning = MemoryPlanningPass(memory_planning_algo=algorithm)
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    runs = [[output.clone() for output in method.execute(list(inputs))] for _ in range(2)]
    return sum(program.executorch_program.execution_plan[0].non_const_buffer_sizes), runs


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(sum(one, []), sum(other, [])))


def main(names):
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    print("| model |", " | ".join(name for name, *_ in WAYS), "| to greedy | outputs |")
    print("|---|" + "---|" * (len(WAYS) + 2), flush=True)
    all_same = True
    for name in names or MODELS:
        torch.manual_seed(0)
        model, inputs = MODELS[name]()
        exported = torch.export.export(model.eval().requires_grad_(False), inputs)
        folded = name.endswith("weights folded")
        found = {way: measured(exported, inputs, make(), order, folded) for way, make, order in WAYS}
        base, least = found["greedy"], min(found["in place"][0], found["and in order"][0])
        is_same = all(same(base[1], runs) for _, runs in found.values())
        all_same &= is_same
        cells = [f"{found[way][0]}" for way, *_ in WAYS]
        change = f"{100 * (least / base[0] - 1):+.1f} %"
        print(f"| {name} | {' | '.join(cells)} | {change} | {'equal' if is_same else 'DIFFERENT'} |", flush=True)
    return 0 if all_same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
