#!/usr/bin/env python3
"""Convolutions and matrix products in all their forms, by the libraries and by the kernels that stand in for them.

usage: check_library_calls.py --bin FOLDER [--device sim|cuda] [--seed N] [--count N]

A model for each element type, once with dynamic and once with literal dims: every call is an output of it. It runs as it is and
with --no-libraries, and is compared with numpy in double precision. Values are small multiples of 1/4, so nothing is lost
in the operands, and an error is one of summing or of rounding the result. Exit code 77: numpy is missing.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import onnx_file
from numbers_check import distance

LIMITS = {"f32": 1e-5, "f16": 2e-3, "bf16": 1.5e-2, "f64": 1e-12, "i32": 0, "i64": 0, "u8": 0}
WORKING = {"f16": onnx_file.F16, "bf16": onnx_file.BF16}  # between Casts: the inputs and outputs are f32
TIMEOUT_S = 600


class Model:
    """Nodes, inputs and constants under construction, and what the outputs must be."""

    def __init__(self, rng, dtype, literal):
        self.rng, self.dtype, self.literal = rng, dtype, literal
        self.kind = numpy.dtype({"f64": "f8", "i32": "i4", "i64": "i8", "u8": "u1"}.get(dtype, "f4"))
        self.nodes, self.inputs, self.constants, self.outputs = [], [], {}, {}
        self.shapes = {}  # input -> its shape in each call
        self.count = 0

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def values(self, shape):
        if self.kind.kind == "f":
            return (self.rng.integers(-8, 9, shape) / 4).astype(self.kind)
        return self.rng.integers(0 if self.kind.kind == "u" else -9, 10, shape).astype(self.kind)

    def add(self, op, inputs, **attributes):
        output = self.name(op.lower())
        self.nodes.append(onnx_file.node(op, inputs, output, **attributes))
        return output

    def working(self, tensor):
        return self.add("Cast", [tensor], to=WORKING[self.dtype]) if self.dtype in WORKING else tensor

    def input(self, shapes, fixed=()):
        """shapes: one for each call; axes in `fixed` are literal in any case."""
        name = self.name("x")
        dims = [n if self.literal or axis in fixed else f"{name}_{axis}" for axis, n in enumerate(shapes[0])]
        self.inputs.append((name, onnx_file.TYPES[self.kind], dims))
        self.shapes[name] = shapes
        return name

    def constant(self, shape):
        name = self.name("w")
        self.constants[name] = self.values(shape)
        return name

    def output(self, tensor, reference):
        """reference: {tensor: array in double} -> array."""
        self.outputs[self.add("Cast", [tensor], to=onnx_file.F32) if self.dtype in WORKING else tensor] = reference

    def write(self, path):
        kind = onnx_file.I32 if self.dtype == "u8" else onnx_file.TYPES[self.kind]
        outputs = [(name, kind) for name in self.outputs]
        path.write_bytes(onnx_file.model(self.nodes, self.inputs, outputs, self.constants))


def convolution(x, w, o):
    """Cross-correlation of double arrays, tap by tap; o: the node's attributes."""
    n, group = x.shape[0], o["group"]
    flat = w.ndim - 2
    x = numpy.pad(x, [(0, 0), (0, 0)] + [(o["pads"][i], o["pads"][flat + i]) for i in range(flat)])
    reach = [(w.shape[2 + i] - 1) * o["dilations"][i] + 1 for i in range(flat)]
    out = [(x.shape[2 + i] - reach[i]) // o["strides"][i] + 1 for i in range(flat)]
    y = numpy.zeros((n, group, w.shape[0] // group, *out))
    grouped = w.reshape(group, w.shape[0] // group, *w.shape[1:])
    for tap in numpy.ndindex(*w.shape[2:]):
        start = [t * d for t, d in zip(tap, o["dilations"])]
        part = x[(slice(None), slice(None), *(slice(s, s + (q - 1) * step + 1, step) for s, q, step in zip(start, out, o["strides"])))]
        y += numpy.einsum("ngc...,gkc->ngk...", part.reshape(n, group, -1, *out), grouped[(..., *tap)])
    return y.reshape(n, w.shape[0], *out)


def transposed(x, w, o):
    n, group, flat = x.shape[0], o["group"], w.ndim - 2
    size = [(x.shape[2 + i] - 1) * o["strides"][i] + (w.shape[2 + i] - 1) * o["dilations"][i] + 1 for i in range(flat)]
    y = numpy.zeros((n, group, w.shape[1], *[s + o["output_padding"][i] for i, s in enumerate(size)]))
    grouped = w.reshape(group, w.shape[0] // group, *w.shape[1:])
    for tap in numpy.ndindex(*w.shape[2:]):
        at = tuple(slice(t * d, t * d + (q - 1) * s + 1, s) for t, d, q, s in zip(tap, o["dilations"], x.shape[2:], o["strides"]))
        part = x.reshape(n, group, -1, *x.shape[2:])
        y[(slice(None), slice(None), slice(None), *at)] += numpy.einsum("ngc...,gck->ngk...", part, grouped[(..., *tap)])
    crop = tuple(slice(o["pads"][i], s + o["output_padding"][i] - o["pads"][flat + i]) for i, s in enumerate(size))
    return y.reshape(n, group * w.shape[1], *y.shape[3:])[(slice(None), slice(None), *crop)]


def add_convolution(m, kind):
    """kind: plain, uneven (padding), spread (stride with dilation), grouped, transposed; all else by chance."""
    rng = m.rng
    flat = int(rng.choice([1, 2, 2, 2]))
    pick = lambda *choices: [int(rng.choice(choices)) for _ in range(flat)]
    group = int(rng.choice([2, 3])) if kind == "grouped" or (kind == "transposed" and rng.random() < 0.4) else 1
    c, k = group * int(rng.choice([1, 3, 8])), group * int(rng.choice([2, 5, 16]))
    taps, strides, dilations = pick(1, 3, 4), pick(1, 2, 3), pick(1, 2)
    if kind == "spread":
        strides, dilations = [2] * flat, [2] * flat
    elif kind != "transposed" and max(strides) > 1:
        dilations = [1] * flat
    low = [int(rng.integers(0, t)) for t in taps]
    o = {"strides": strides, "dilations": dilations, "group": group, "pads": low + [p + (kind == "uneven") for p in low]}
    function, op, shape = convolution, "Conv", [k, c // group, *taps]
    if kind == "transposed":
        o["output_padding"] = [int(max(s, d) > 1 and rng.random() < 0.5) for s, d in zip(strides, dilations)]
        function, op, shape = transposed, "ConvTranspose", [c, k // group, *taps]
    x, operands = m.input([[n, c, *pick(9, 12, 17)] for n in CALLS], fixed=(1,)), [m.constant(shape)]
    if rng.random() < 0.7:
        operands.append(m.constant([k]))
    y, relu = m.add(op, [m.working(t) for t in (x, *operands)], **o), rng.random() < 0.5

    def reference(v):
        result = function(v[x], v[operands[0]], o)
        if len(operands) > 1:
            result += v[operands[1]].reshape(-1, *[1] * flat)
        return numpy.maximum(result, 0) if relu else result

    m.output(m.add("Relu", [y]) if relu else y, reference)


def add_empty_convolution(m):
    """Padding alone makes results: an input without pixels gives the bias."""
    x, w, b = m.input([[n, 3, size, 4] for n, size in zip(CALLS, (0, 1, 5))], fixed=(1,)), m.constant([4, 3, 2, 2]), m.constant([4])
    o = {"strides": [1, 1], "dilations": [1, 1], "group": 1, "pads": [1, 0, 1, 0]}
    m.output(m.add("Conv", [m.working(t) for t in (x, w, b)], **o), lambda v: convolution(v[x], v[w], o) + v[b].reshape(-1, 1, 1))


def add_product(m, form):
    """form: weights, batched, turned (right operand transposed, heads interleaved), shared (one right operand for a batch)."""
    rng = m.rng
    sizes = lambda: [int(n) for n in rng.choice([1, 3, 8, 17, 33, 64], 3)]
    calls = [sizes() for _ in CALLS]
    if form == "weights":
        k, n = calls[0][1:]
        x, w = m.input([[b, call[0], k] for b, call in zip(CALLS, calls)], fixed=(2,)), m.constant([k, n])
        b = m.constant([n])
        y = m.add("Add", [m.add("MatMul", [m.working(x), m.working(w)]), m.working(b)])
        m.output(m.add("Relu", [y]), lambda v: numpy.maximum(v[x] @ v[w] + v[b], 0))
        return
    lead = [] if form == "shared" else [2, 3]
    x = m.input([[n, 3, call[0], call[1]] for n, call in zip(CALLS, calls)])
    if form == "turned":
        w = m.input([[n, call[2], 3, call[1]] for n, call in zip(CALLS, calls)])
        right, turn = m.add("Transpose", [m.working(w)], perm=[0, 2, 3, 1]), lambda a: a.transpose(0, 2, 3, 1)
    else:
        w = m.input([([n, 3] if lead else []) + call[1:] for n, call in zip(CALLS, calls)])
        right, turn = m.working(w), lambda a: a
    m.output(m.add("MatMul", [m.working(x), right]), lambda v: v[x] @ turn(v[w]))


def add_skip_product(m):
    """What transformers add: rows that went into a scaled product, to its result."""
    x, w, b = m.input([[n, size, 24] for n, size in zip(CALLS, (5, 33, 1))], fixed=(2,)), m.constant([24, 24]), m.constant([24])
    scale = m.constant([])
    rows = m.working(x)
    scaled = m.add("Mul", [m.add("MatMul", [rows, m.working(w)]), m.working(scale)])
    y = m.add("Relu", [m.add("Add", [m.add("Add", [rows, scaled]), m.working(b)])])
    m.output(y, lambda v: numpy.maximum(v[x] @ v[w] * v[scale] + v[x] + v[b], 0))


def add_skip_convolution(m):
    """A block of a residual network: the sum is stored, as another convolution reads it."""
    c = int(m.rng.choice([3, 8, 24]))
    x, w, b, last = m.input([[n, c, *m.rng.integers(1, 20, 2).tolist()] for n in CALLS], fixed=(1,)), m.constant([c, c, 3, 3]), m.constant([c]), m.constant([5, c, 1, 1])
    window = {"strides": [1, 1], "dilations": [1, 1], "group": 1, "pads": [1, 1, 1, 1]}
    point = window | {"pads": [0, 0, 0, 0]}
    image = m.working(x)
    block = m.add("Relu", [m.add("Add", [m.add("Conv", [image, m.working(w), m.working(b)], **window), image])])
    m.output(m.add("Conv", [block, m.working(last)], **point),
             lambda v: convolution(numpy.maximum(convolution(v[x], v[w], window) + v[b].reshape(-1, 1, 1) + v[x], 0), v[last], point))


def add_empty_product(m):
    """Without rows, without terms, without columns."""
    calls = ((0, 4, 5), (3, 0, 5), (3, 4, 0))
    x, w = m.input([[a, k] for a, k, _ in calls]), m.input([[k, n] for _, k, n in calls])
    m.output(m.add("MatMul", [m.working(x), m.working(w)]), lambda v: v[x] @ v[w])


def add_bytes_product(m):
    x, w = m.input([[5, 7], [1, 33], [16, 2]]), m.input([[7, 3], [33, 9], [2, 1]])
    m.output(m.add("MatMulInteger", [x, w]), lambda v: v[x] @ v[w])


CALLS = (2, 1, 3)  # batch of each call
CONVOLUTIONS = ("plain", "uneven", "spread", "grouped", "transposed")
PRODUCTS = ("weights", "batched", "turned", "shared")


def build(rng, dtype, literal, count):
    m = Model(rng, dtype, literal)
    if dtype == "u8":
        add_bytes_product(m)
        return m
    for _ in range(count):
        for kind in CONVOLUTIONS if m.kind.kind == "f" else ():
            add_convolution(m, kind)
        for form in PRODUCTS:
            add_product(m, form)
    add_empty_product(m)
    if m.kind.kind == "f":
        add_empty_convolution(m)
        add_skip_convolution(m)
        add_skip_product(m)
    return m


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT_S)
    return f"{pathlib.Path(command[0]).name}: exit code {done.returncode}: {done.stderr.strip()}" if done.returncode else ""


def check(m, folder, options):
    """Prints the worst error by the libraries and by kernels of our own; returns what is wrong."""
    m.write(folder / "m.onnx")
    if failed := run(options.bin / "dlcbc", folder / "m.onnx", "-o", folder / "m.dlcb", "--stand-ins", "--quiet", "--no-cache"):
        return [failed]
    wrong, worst = [], {}
    for call in range(1 if m.literal else len(CALLS)):
        feeds = {name: m.values(shapes[call]) for name, shapes in m.shapes.items()}
        given = []
        for name, array in feeds.items():
            numpy.save(folder / f"{name}.npy", array)
            given += ["--input", f"{name}=@{folder / name}.npy"]
        double = {name: array.astype(numpy.float64) for name, array in (feeds | m.constants).items()}
        for way in ((), ("--no-libraries",)):
            out = folder / "out"
            if failed := run(options.bin / "dlcb-run", folder / "m.dlcb", "--device", options.device, "--tf32", "off", "--quiet", *way,
                             "--output", out, *given):
                wrong.append(f"call {call} {way}: {failed}")
                continue
            for name, reference in m.outputs.items():
                got, want = numpy.load(out / f"{name}.npy"), reference(double)
                error = distance(got, want) if got.shape == want.shape else float("inf")
                worst[way] = max(worst.get(way, 0), error)
                if not error <= LIMITS[m.dtype]:
                    wrong.append(f"call {call} {way} {name}: {got.shape} for {want.shape}, error {error:.1e}")
    print(f"{m.dtype:4} {'literal' if m.literal else 'dynamic'} {len(m.outputs)} calls:",
          ", ".join(f"{'kernels' if way else 'libraries'} {error:.1e}" for way, error in worst.items()), flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--device", choices=("sim", "cuda"), default="sim")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1, help="calls of each form in a model")
    parser.add_argument("types", nargs="*", metavar="TYPE", default=list(LIMITS))
    options = parser.parse_args()
    wrong = []
    for dtype in options.types:
        for literal in (False, True):
            with tempfile.TemporaryDirectory(prefix="dlcb-calls-") as folder:
                m = build(numpy.random.default_rng([options.seed, *dtype.encode(), literal]), dtype, literal, options.count)
                wrong += [f"{dtype} {'literal' if literal else 'dynamic'}: {text}" for text in check(m, pathlib.Path(folder), options)]
    for text in wrong:
        print(f"FAILED {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
