"""One independent graph under construction: what its operators (the other files of this folder) build on."""
import numpy as np
from onnx import helper as oh, numpy_helper as nh

CALLS = 4  # shapes per model


class Value:
    """A tensor of the graph under construction: its shape at each of the calls, and whether its elements are exact."""

    def __init__(self, name, shapes, dtype=np.float32, exact=False, positive=False):
        self.name, self.shapes, self.dtype, self.exact, self.positive = name, shapes, np.dtype(dtype), exact, positive

    @property
    def rank(self):
        return len(self.shapes[0])

    def dim(self, axis):
        return tuple(s[axis] for s in self.shapes)

    def literal(self, axis):
        dim = self.dim(axis)
        return dim[0] if len(set(dim)) == 1 else None


class Builder:
    """Nodes, inputs and constants of one part, and the choice of operands."""

    def __init__(self, rng, prefix, symbols, half=False):
        self.rng, self.prefix, self.symbols, self.float = rng, prefix, symbols, np.float16 if half else np.float32
        self.nodes, self.inputs, self.constants, self.values, self.outputs = [], [], [], [], []
        self.np = np.random.default_rng(rng.getrandbits(32))
        self.count = 0

    def name(self, hint="t"):
        self.count += 1
        return f"{self.prefix}{hint}{self.count}"

    def constant(self, array, hint="c"):
        name = self.name(hint)
        self.constants.append(nh.from_array(np.asarray(array, order="C"), name))
        return name

    def quarters(self, shape, low=-8, high=9):
        return (self.np.integers(low, high, size=shape) / 4).astype(self.float)

    def input(self, dims, dtype=None):
        """dims: symbol names or numbers."""
        dtype = np.dtype(dtype or self.float)
        shapes = [tuple(self.symbols[d][k] if isinstance(d, str) else d for d in dims) for k in range(CALLS)]
        value = Value(self.name("x"), shapes, dtype, exact=True)
        self.inputs.append((value, dims))
        self.values.append(value)
        return value

    def emit(self, op, inputs, shapes, dtype=None, exact=False, positive=False, more_outputs=0, **attrs):
        out = Value(self.name(), shapes, dtype or self.float, exact, positive)
        names = [i.name if isinstance(i, Value) else i for i in inputs]
        self.nodes.append(oh.make_node(op, names, [out.name], name=f"{self.prefix}n{self.count}", **attrs))
        self.values.append(out)
        return out

    def pick(self, condition=lambda v: True, floating=True):
        found = [v for v in self.values if condition(v) and (v.dtype == self.float) == floating]
        if not found:
            return None
        recent = found[-4:]
        return self.rng.choice(recent if self.rng.random() < 0.7 else found)

    @staticmethod
    def broadcast(a, b):
        out = []
        for s, t in zip(a.shapes, b.shapes):
            try:
                out.append(tuple(np.broadcast_shapes(s, t)))
            except ValueError:
                return None
        return out

    def choose_outputs(self):
        read = {name for n in self.nodes for name in n.input}
        made = {o for n in self.nodes for o in n.output}
        constants = {c.name for c in self.constants}
        loose = [v for v in self.values if v.name in made and v.name not in read]
        chosen = loose + [v for v in self.values if v.name in made and v.name in read and self.rng.random() < 0.15]
        if self.rng.random() < 0.1:
            chosen.append(self.rng.choice([v for v in self.values if v.name not in constants]))
        for v in chosen:
            if all(v.name != o.name for o in self.outputs):
                self.outputs.append(v)
