"""Parts from a seed, the model that holds them, and its inputs."""
import random

import numpy as np
from onnx import helper as oh

from fuzz.branches import Branches
from fuzz.movement import Movement
from fuzz.part import CALLS
from fuzz.pointwise import Pointwise
from fuzz.reductions import Reductions
from fuzz.windows import Windows

OPSET = 18


class Part(Pointwise, Windows, Movement, Reductions, Branches):
    """Methods named op_* add nodes, or return None where they find no fitting operand."""

    def build(self, steps):
        rng = self.rng
        layouts = [["N", 4, "H", "W"], ["N", 3, "H", "W"], ["N", "T", 8], ["T", 6], ["N", 4, "T"], ["N", 2, "T", 6], ["T", "T"], ["N", 2, 3, "H", "W"], ["N", "S"]]
        layout = rng.choice(layouts)
        self.input(layout)
        if rng.random() < 0.5:
            self.input([d if rng.random() < 0.6 else rng.choice([1, "B"]) if d == "N" else 1 for d in layout])
        if rng.random() < 0.3:
            self.input(rng.choice(layouts))
        operators = [getattr(self, n) for n in dir(self) if n.startswith("op_")]
        favoured = [self.op_conv, self.op_binary, self.op_unary, self.op_matmul, self.op_transpose]
        for _ in range(steps):
            value = rng.choice(operators + favoured)()
            if value and max(int(np.prod(s)) for s in value.shapes) > 60000:
                break
        self.choose_outputs()


def model_of(parts, only_outputs=None):
    nodes, inputs, outputs, constants = [], [], [], []
    for p in parts:
        wanted = [o for o in p.outputs if only_outputs is None or o.name in only_outputs]
        needed = {o.name for o in wanted}
        kept = []
        for n in reversed(p.nodes):
            if needed & set(n.output):
                kept.append(n)
                needed |= set(n.input)
                for a in n.attribute:
                    if a.HasField("g"):
                        needed |= {i for m in a.g.node for i in m.input}
        nodes += reversed(kept)
        constants += [c for c in p.constants if c.name in needed]
        inputs += [oh.make_tensor_value_info(v.name, oh.np_dtype_to_tensor_dtype(v.dtype), list(dims)) for v, dims in p.inputs if v.name in needed]
        outputs += [oh.make_tensor_value_info(o.name, oh.np_dtype_to_tensor_dtype(o.dtype), None) for o in wanted]
    graph = oh.make_graph(nodes, "fuzz", inputs, outputs, constants)
    for o in graph.output:  # of unknown rank: left to inference
        o.type.tensor_type.ClearField("shape")
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", OPSET)], ir_version=9)


def make_parts(seed, count, steps, only):
    rng = random.Random(seed)
    symbols = {name: [rng.choice(choices) for _ in range(CALLS)] for name, choices in
               {"N": [1, 2, 3, 5], "H": [4, 6, 7, 9, 16], "W": [4, 5, 8, 11], "T": [1, 2, 5, 7, 12, 33], "S": [1, 3, 64, 130]}.items()}
    symbols["B"] = [rng.choice([1, n]) for n in symbols["N"]]
    if rng.random() < 0.4:
        symbols["N"][3] = symbols["B"][3] = 0
    symbols["T"][1] = 1
    parts = []
    for i in range(count):
        part = Part(random.Random(seed * 1000 + i), f"p{i}_", symbols, half=rng.random() < 0.15)
        part.build(rng.randint(2, steps))
        if only is None or i in only:
            parts.append(part)
    return parts


def make_feeds(parts, call, seed):
    rng = np.random.default_rng(seed * 10 + call)
    feeds = {}
    for p in parts:
        for v, _ in p.inputs:
            shape = v.shapes[call]
            feeds[v.name] = rng.integers(0, 2, shape).astype(bool) if v.dtype == bool else (rng.integers(-8, 9, shape) / 4).astype(v.dtype)
    return feeds
