#!/usr/bin/env python3
"""Random small ONNX graphs with dynamic dims, compiled by dlcbc, run at several shapes and compared with onnxruntime.

usage: fuzz_graphs.py --bin DIR [--seed 0] [--count 20] [--parts 4] [--keep DIR] [--minimise]

One model holds several independent parts, because compiling kernels costs more per model than per kernel. A model is
determined by its seed and its parts, so `--seed 7 --count 1 --only 2` makes part 2 of model 7 alone. A failure names the
seed, the part and the first output that differs; --minimise then looks for the earliest tensor of that part that fails.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper as oh, numpy_helper as nh

REFERENCE = pathlib.Path(__file__).with_name("reference.py")
CALLS = 4  # shapes per model
OPSET = 18


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


class Part:
    """Builds one independent graph. Methods named op_* add nodes, or return None where they find no fitting operand."""

    def __init__(self, rng, prefix, symbols, half=False):
        self.rng, self.prefix, self.symbols, self.float = rng, prefix, symbols, np.float16 if half else np.float32
        self.nodes, self.inputs, self.constants, self.values, self.outputs = [], [], [], [], []
        self.np = np.random.default_rng(rng.getrandbits(32))
        self.count = 0

    # --- pieces
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

    # --- operators
    def op_unary(self):
        x = self.pick()
        op = self.rng.choice("Relu Sigmoid Tanh Abs Neg Erf HardSwish LeakyRelu Elu Softplus Identity HardSigmoid Softsign Mish Exp Sqrt Clip".split())
        if op in ("Exp", "Sqrt"):
            x = self.emit("Tanh" if op == "Exp" else "Abs", [x], x.shapes)
        if op == "Clip":
            return self.emit("Clip", [x, self.constant(self.float(-0.5)), self.constant(self.float(1.5))], x.shapes, exact=x.exact)
        return self.emit(op, [x], x.shapes, exact=x.exact and op in ("Relu", "Abs", "Neg", "Identity"))

    def op_pattern(self):
        """Written-out GELU, SiLU, softmax, layer norm and near misses of them."""
        x = self.pick(lambda v: v.rank >= 1)
        if not x:
            return None
        kind = self.rng.choice("gelu silu hswish softmax norm".split())
        if kind == "gelu":
            rank = self.rng.choice([0, 0, 0, x.rank])
            number = lambda f: self.constant(np.full([1] * rank, f, self.float))
            e = self.emit("Erf", [self.emit("Div", [x, number(1.4142135)], x.shapes)], x.shapes)
            a = self.emit("Add", [e, number(1)], x.shapes)
            return self.emit("Mul", [self.emit("Mul", [x, a], x.shapes), number(0.5)], x.shapes)
        if kind == "silu":
            return self.emit("Mul", [x, self.emit("Sigmoid", [x], x.shapes)], x.shapes)
        if kind == "hswish":
            a = self.emit("Add", [x, self.constant(self.float(3))], x.shapes)
            c = self.emit("Clip", [a, self.constant(self.float(0)), self.constant(self.float(6))], x.shapes)
            return self.emit("Div", [self.emit("Mul", [x, c], x.shapes), self.constant(self.float(6))], x.shapes)
        if any(0 in s for s in x.shapes):
            return None
        axis = self.rng.randrange(-x.rank, x.rank)
        square = x.rank == 2 and x.dim(0) == x.dim(1) and self.rng.random() < 0.5  # without kept dims it is another sum
        keep = 0 if square else 1
        low = [s[:axis % x.rank] + ((1,) if keep else ()) + s[axis % x.rank + 1:] for s in x.shapes]
        if kind == "softmax":
            m = self.emit("ReduceMax", [x, self.constant(np.array([axis], np.int64))], low, keepdims=keep)
            e = self.emit("Exp", [self.emit("Sub", [x, m], x.shapes)], x.shapes)
            kept = [s[:axis % x.rank] + (1,) + s[axis % x.rank + 1:] for s in x.shapes]
            s = self.emit("ReduceSum", [e, self.constant(np.array([axis], np.int64))], kept, keepdims=1)
            return self.emit("Div", [e, s], x.shapes)
        m = self.emit("ReduceMean", [x, self.constant(np.array([axis], np.int64))], low, keepdims=keep)
        d = self.emit("Sub", [x, m], x.shapes)
        v = self.emit("ReduceMean", [self.emit("Mul", [d, d], x.shapes), self.constant(np.array([axis], np.int64))], low, keepdims=keep)
        r = self.emit("Sqrt", [self.emit("Add", [v, self.constant(self.float(0.01))], low)], low)
        return self.emit("Div", [d, r], x.shapes)

    @staticmethod
    def broadcast(a, b):
        out = []
        for s, t in zip(a.shapes, b.shapes):
            try:
                out.append(tuple(np.broadcast_shapes(s, t)))
            except ValueError:
                return None
        return out

    def op_binary(self):
        a = self.pick()
        b = self.pick(lambda v: self.broadcast(a, v) is not None)
        if self.rng.random() < 0.3:  # a constant of some of the dims
            shape = [self.rng.choice([1, a.literal(i) or 1]) for i in range(a.rank)][self.rng.randrange(a.rank + 1):]
            b = Value(self.constant(self.quarters(shape)), [tuple(shape)] * CALLS, exact=True)
        op = self.rng.choice("Add Sub Mul Max Min Add Mul Div".split())
        shapes = self.broadcast(a, b)
        if op == "Div":
            b = self.emit("Add", [self.emit("Abs", [b], b.shapes), self.constant(self.float(1))], b.shapes)
        if self.rng.random() < 0.5:
            a, b = b, a
        exact = a.exact and b.exact and op in ("Max", "Min")
        if op in ("Max", "Min") and self.rng.random() < 0.3:
            return self.emit(op, [a, b, a], shapes, exact=exact)
        return self.emit(op, [a, b], shapes, exact=exact)

    def op_where(self):
        a = self.pick(lambda v: v.exact)
        b = self.pick(lambda v: self.broadcast(a, v) is not None)
        if not b:
            return None
        op = self.rng.choice(["Less", "Greater", "Equal", "GreaterOrEqual"])
        c = self.emit(op, [a, self.constant(self.float(0.25))], a.shapes, np.bool_, exact=True)
        if self.rng.random() < 0.3:
            c = self.emit("Not", [c], a.shapes, np.bool_, exact=True)
        return self.emit("Where", [c, b, self.constant(self.float(-1))], self.broadcast(a, b))

    def op_cast(self):
        x = self.pick(lambda v: v.exact)
        if not x:
            return None
        to = self.rng.choice([T.INT32, T.INT64, T.INT8, T.BOOL])
        i = self.emit("Cast", [x], x.shapes, oh.tensor_dtype_to_np_dtype(to), exact=True, to=to)
        if to in (T.INT32, T.INT64) and self.rng.random() < 0.6:
            number = self.constant(np.array(self.rng.choice([3, 2, -2]), i.dtype))
            i = self.emit(self.rng.choice(["Add", "Mul", "Div", "Mod", "Max"]), [i, number], x.shapes, i.dtype, exact=True)
        return self.emit("Cast", [i], x.shapes, exact=True, to=oh.np_dtype_to_tensor_dtype(np.dtype(self.float)))

    def conv_weights(self, shape):
        return self.constant(self.np.normal(size=shape).astype(np.float32).astype(self.float) * self.float(0.3), "w")

    def op_conv(self):
        x = self.pick(lambda v: v.rank in (3, 4, 5) and v.literal(1))
        if not x:
            return None
        c, flat = x.literal(1), x.rank - 2
        k = [self.rng.choice([1, 3, 3, 2]) for _ in range(flat)]
        stride = [self.rng.choice([1, 1, 2]) for _ in range(flat)]
        dil = [self.rng.choice([1, 1, 1, 2]) for _ in range(flat)]
        lo = [self.rng.choice([0, (n - 1) * d // 2, 1]) for n, d in zip(k, dil)]
        hi = [l if self.rng.random() < 0.8 else l + 1 for l in lo]
        kind = self.rng.choice("full full depthwise grouped transposed transposed".split())
        out = []
        for s in x.shapes:
            if kind == "transposed":
                dims = [(n - 1) * t + (f - 1) * d + 1 - l - h for n, t, f, d, l, h in zip(s[2:], stride, k, dil, lo, hi)]
            else:
                dims = [(n + l + h - (f - 1) * d - 1) // t + 1 for n, t, f, d, l, h in zip(s[2:], stride, k, dil, lo, hi)]
            if min(dims) <= 0 or (0 in s[1:]):
                return None
            out.append(dims)
        group = c if kind == "depthwise" else 2 if kind == "grouped" and c % 2 == 0 else 1
        if kind == "transposed":
            group = self.rng.choice([1, 1, 2 if c % 2 == 0 else 1])
        features = c if kind == "depthwise" else group * self.rng.choice([1, 2, 3, 4])
        w = self.conv_weights([c, features // group] + k if kind == "transposed" else [features, c // group] + k)
        if self.rng.random() < 0.15 and x.shapes[0][0]:  # weights that other nodes read as well
            shape = tuple([c, features // group] + k if kind == "transposed" else [features, c // group] + k)
            self.values.append(Value(w, [shape] * CALLS, self.float))
        operands = [x, w] + ([self.constant(self.quarters([features]))] if self.rng.random() < 0.6 else [])
        attrs = dict(strides=stride, dilations=dil, pads=lo + hi, group=group)
        y = self.emit("ConvTranspose" if kind == "transposed" else "Conv", operands, [(s[0], features, *d) for s, d in zip(x.shapes, out)], **attrs)
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            y = self.after_conv(y, features)
        return y

    def after_conv(self, y, features):
        kind = self.rng.choice("norm add mul relu residual silu".split())
        wide = [features] + [1] * (y.rank - 2)
        if kind == "norm":
            p = [self.constant(np.abs(self.np.normal(size=features)).astype(self.float) + self.float(0.5)) for _ in range(4)]
            return self.emit("BatchNormalization", [y, *p], y.shapes, epsilon=1e-3)
        if kind in ("add", "mul"):
            return self.emit(kind.capitalize(), [y, self.constant(self.quarters(wide))], y.shapes)
        if kind == "residual":
            return self.emit("Add", [y, self.pick(lambda v: v.shapes == y.shapes) or y], y.shapes)
        if kind == "silu":
            return self.emit("Mul", [y, self.emit("Sigmoid", [y], y.shapes)], y.shapes)
        return self.emit("Relu", [y], y.shapes)

    def op_pool(self):
        x = self.pick(lambda v: v.rank in (3, 4))
        if not x:
            return None
        flat = x.rank - 2
        if self.rng.random() < 0.2:
            if any(0 in s for s in x.shapes):
                return None
            op = self.rng.choice(["GlobalAveragePool", "GlobalMaxPool"])
            return self.emit(op, [x], [s[:2] + (1,) * flat for s in x.shapes])
        k = [self.rng.choice([2, 3]) for _ in range(flat)]
        stride = [self.rng.choice([1, 2]) for _ in range(flat)]
        pad = [self.rng.choice([0, 1]) for _ in range(flat)]
        ceil = self.rng.choice([0, 0, 1])
        op = self.rng.choice(["MaxPool", "AveragePool"])
        shapes = []
        for s in x.shapes:
            dims = []
            for n, f, t, p in zip(s[2:], k, stride, pad):
                span = n + 2 * p - f
                if span < 0 or n == 0:
                    return None
                d = -(-span // t) + 1 if ceil else span // t + 1
                if ceil and (d - 1) * t >= n + p:
                    d -= 1
                dims.append(d)
            shapes.append(s[:2] + tuple(dims))
        attrs = {"count_include_pad": self.rng.choice([0, 1])} if op == "AveragePool" and not ceil else {}
        return self.emit(op, [x], shapes, exact=x.exact and op == "MaxPool", kernel_shape=k, strides=stride, pads=pad + pad, ceil_mode=ceil, **attrs)

    def op_transpose(self):
        x = self.pick(lambda v: v.rank >= 2)
        if not x:
            return None
        perm = self.rng.sample(range(x.rank), x.rank)
        return self.emit("Transpose", [x], [tuple(s[p] for p in perm) for s in x.shapes], exact=x.exact, perm=perm)

    def op_reshape(self):
        x = self.pick(lambda v: v.rank >= 1)
        if not x:
            return None
        kind = self.rng.choice("flatten merge split squeeze unsqueeze computed".split())
        if kind == "flatten":
            axis = self.rng.randrange(x.rank + 1)
            return self.emit("Flatten", [x], [(int(np.prod(s[:axis])), int(np.prod(s[axis:]))) for s in x.shapes], exact=x.exact, axis=axis)
        if kind == "merge" and x.rank >= 2:
            at = self.rng.randrange(x.rank - 1)
            if any(0 in s for s in x.shapes):
                return None
            spec = [0] * at + [-1] + [x.literal(i) if x.literal(i) else None for i in range(at + 2, x.rank)]
            if None in spec:
                return None
            shapes = [s[:at] + (s[at] * s[at + 1],) + s[at + 2:] for s in x.shapes]
            return self.emit("Reshape", [x, self.constant(np.array(spec, np.int64))], shapes, exact=x.exact)
        if kind == "split":
            found = [i for i in range(x.rank) if x.literal(i) and x.literal(i) % 2 == 0]
            if not found or any(0 in s for s in x.shapes):
                return None
            at = self.rng.choice(found)
            spec = [0] * at + [2, x.literal(at) // 2] + [x.literal(i) or -1 for i in range(at + 1, x.rank)]
            if spec.count(-1) > 1:
                return None
            shapes = [s[:at] + (2, s[at] // 2) + s[at + 1:] for s in x.shapes]
            return self.emit("Reshape", [x, self.constant(np.array(spec, np.int64))], shapes, exact=x.exact)
        if kind == "unsqueeze" and x.rank < 5:
            at = self.rng.randrange(x.rank + 1)
            return self.emit("Unsqueeze", [x, self.constant(np.array([at], np.int64))], [s[:at] + (1,) + s[at:] for s in x.shapes], exact=x.exact)
        if kind == "squeeze":
            found = [i for i in range(x.rank) if set(x.dim(i)) == {1}]
            if not found:
                return None
            at = self.rng.choice(found)
            return self.emit("Squeeze", [x, self.constant(np.array([at], np.int64))], [s[:at] + s[at + 1:] for s in x.shapes], exact=x.exact)
        shape = self.emit("Shape", [x], [(x.rank,)] * CALLS, np.int64)  # back to its own shape in another order of dims
        order = self.rng.sample(range(x.rank), x.rank)
        g = self.emit("Gather", [shape, self.constant(np.array(order, np.int64))], [(x.rank,)] * CALLS, np.int64)
        self.values.remove(shape), self.values.remove(g)
        return self.emit("Reshape", [x, g], [tuple(s[o] for o in order) for s in x.shapes], exact=x.exact, allowzero=1)

    def op_concat(self):
        a = self.pick(lambda v: v.rank >= 1)
        if not a:
            return None
        axis = self.rng.randrange(a.rank)
        def fits(v):
            return v.rank == a.rank and all(v.dim(i) == a.dim(i) for i in range(a.rank) if i != axis)
        parts = [a] + [self.pick(fits) for _ in range(self.rng.choice([0, 1, 1, 2]))]
        if self.rng.random() < 0.5:
            parts.reverse()
        shapes = [s[:axis] + (sum(p.shapes[k][axis] for p in parts),) + s[axis + 1:] for k, s in enumerate(a.shapes)]
        return self.emit("Concat", parts, shapes, exact=all(p.exact for p in parts), axis=axis - (a.rank if self.rng.random() < 0.3 else 0))

    def op_slice(self):
        x = self.pick(lambda v: v.rank >= 1)
        if not x:
            return None
        axes = self.rng.sample(range(x.rank), self.rng.choice([1, 1, min(2, x.rank)]))
        starts, ends, steps = [], [], []
        shapes = [list(s) for s in x.shapes]
        for a in axes:
            step = self.rng.choice([1, 1, 2, -1, -2])
            start, end = self.rng.choice([0, 1, -2, -3, 2]), self.rng.choice([2**31, -1, 3, 5, 2**62])
            if step < 0:
                start, end = self.rng.choice([-1, 2**31, 3]), self.rng.choice([-2**62, 0, -4])
            starts.append(start), ends.append(end), steps.append(step)
            for k, s in enumerate(x.shapes):
                shapes[k][a] = len(range(s[a])[slice(start, end, step)]) if not (step < 0 and end == -2**62) else len(range(s[a])[slice(start, None, step)])
        shapes = [tuple(s) for s in shapes]
        args = [self.constant(np.array(v, np.int64)) for v in (starts, ends, axes, steps)]
        return self.emit("Slice", [x, *args], shapes, exact=x.exact)

    def op_split(self):
        x = self.pick(lambda v: any(v.literal(i) and v.literal(i) > 1 for i in range(v.rank)))
        if not x:
            return None
        axis = self.rng.choice([i for i in range(x.rank) if x.literal(i) and x.literal(i) > 1])
        n = x.literal(axis)
        cut = self.rng.randrange(n + 1)
        outs = [Value(self.name(), [s[:axis] + (c,) + s[axis + 1:] for s in x.shapes], self.float, x.exact) for c in (cut, n - cut)]
        self.nodes.append(oh.make_node("Split", [x.name, self.constant(np.array([cut, n - cut], np.int64))], [o.name for o in outs],
                                       name=f"{self.prefix}n{self.count}", axis=axis))
        self.values += outs
        return outs[0]

    def op_pad(self):
        x = self.pick(lambda v: v.rank >= 1)
        if not x:
            return None
        mode = self.rng.choice(["constant", "constant", "reflect", "edge"])
        lo, hi = [self.rng.choice([0, 0, 1, 2]) for _ in range(x.rank)], [self.rng.choice([0, 0, 1, 2]) for _ in range(x.rank)]
        if mode == "constant" and self.rng.random() < 0.3:
            lo[self.rng.randrange(x.rank)] = -1
        shapes = []
        for s in x.shapes:
            if mode == "reflect" and any(max(l, h) >= n for l, h, n in zip(lo, hi, s)) or (mode != "constant" and 0 in s):
                return None
            if any(l + h + n < 0 or (l < 0 and n < 1) for l, h, n in zip(lo, hi, s)):
                return None
            shapes.append(tuple(l + h + n for l, h, n in zip(lo, hi, s)))
        args = [x, self.constant(np.array(lo + hi, np.int64))] + ([self.constant(self.float(0.5))] if mode == "constant" else [])
        return self.emit("Pad", args, shapes, exact=x.exact, mode=mode)

    def op_gather(self):
        x = self.pick(lambda v: any(v.literal(i) for i in range(v.rank)))
        if not x:
            return None
        axis = self.rng.choice([i for i in range(x.rank) if x.literal(i)])
        shape = self.rng.choice([(), (1,), (3,), (2, 2)])
        if x.rank - 1 + len(shape) > 5:
            return None
        ids = self.np.integers(-x.literal(axis), x.literal(axis), size=shape)
        return self.emit("Gather", [x, self.constant(np.asarray(ids, np.int64))], [s[:axis] + shape + s[axis + 1:] for s in x.shapes], exact=x.exact, axis=axis)

    def op_softmax(self):
        x = self.pick(lambda v: v.rank >= 1 and all(0 not in s for s in v.shapes))
        if not x:
            return None
        return self.emit(self.rng.choice(["Softmax", "LogSoftmax"]), [x], x.shapes, axis=self.rng.randrange(-x.rank, x.rank))

    def op_norm(self):
        x = self.pick(lambda v: v.rank >= 2 and v.literal(v.rank - 1))
        if not x:
            return None
        n = x.literal(x.rank - 1)
        return self.emit("LayerNormalization", [x, self.constant(self.quarters([n])), self.constant(self.quarters([n]))], x.shapes, axis=-1, epsilon=1e-2)

    def op_instance_norm(self):
        x = self.pick(lambda v: v.rank >= 3 and v.literal(1) and all(0 not in s for s in v.shapes))
        if not x:
            return None
        c = x.literal(1)
        return self.emit("InstanceNormalization", [x, self.constant(self.quarters([c])), self.constant(self.quarters([c]))], x.shapes, epsilon=1e-2)

    def op_reduce(self):
        x = self.pick(lambda v: v.rank >= 1 and all(0 not in s for s in v.shapes))
        if not x:
            return None
        axes = sorted(self.rng.sample(range(x.rank), self.rng.randint(1, x.rank)))
        keep = self.rng.choice([0, 1])
        op = self.rng.choice("ReduceSum ReduceMean ReduceMax ReduceMin ReduceL2 ReduceSumSquare ReduceL1 ReduceLogSumExp".split())
        shapes = [tuple(1 if i in axes else d for i, d in enumerate(s) if keep or i not in axes) for s in x.shapes]
        return self.emit(op, [x, self.constant(np.array([a - x.rank if self.rng.random() < 0.3 else a for a in axes], np.int64))], shapes,
                         exact=x.exact and op in ("ReduceMax", "ReduceMin"), keepdims=keep)

    def op_argmax(self):
        x = self.pick(lambda v: v.rank >= 1 and v.exact and all(0 not in s for s in v.shapes))
        if not x:
            return None
        axis = self.rng.randrange(x.rank)
        shapes = [s[:axis] + (1,) + s[axis + 1:] for s in x.shapes]
        i = self.emit(self.rng.choice(["ArgMax", "ArgMin"]), [x], shapes, np.int64, exact=True, axis=axis)
        return self.emit("Cast", [i], shapes, exact=True, to=oh.np_dtype_to_tensor_dtype(np.dtype(self.float)))

    def op_matmul(self):
        a = self.pick(lambda v: v.rank >= 1)
        if not a:
            return None
        kind = self.rng.choice("weights weights value self expand gemm".split())
        k = a.literal(a.rank - 1)
        if kind == "gemm" and a.rank == 2 and k:
            n = self.rng.choice([1, 3, 8])
            tb = self.rng.choice([0, 1])
            w = self.conv_weights([n, k] if tb else [k, n])
            c = self.constant(self.quarters(self.rng.choice([[n], [1, n], [1], []])))
            return self.emit("Gemm", [a, w, c], [(s[0], n) for s in a.shapes], transB=tb, alpha=self.rng.choice([1.0, 0.5]), beta=self.rng.choice([1.0, 2.0]))
        if kind == "expand" and a.rank >= 2 and k:  # rows that are all the same, read in place
            row = self.emit("Slice", [a, *(self.constant(np.array([v], np.int64)) for v in (0, 1, a.rank - 2))],
                            [s[:-2] + (min(1, s[-2]), s[-1]) for s in a.shapes])
            if any(s[-2] == 0 for s in a.shapes):
                return None
            a = self.emit("Expand", [row, self.constant(np.array([4, 1], np.int64))], [s[:-2] + (4, s[-1]) for s in row.shapes])
        if kind == "self" and a.rank >= 2:
            perm = list(range(a.rank))
            perm[-1], perm[-2] = perm[-2], perm[-1]
            b = self.emit("Transpose", [a], [s[:-2] + (s[-1], s[-2]) for s in a.shapes], perm=perm)
            if self.rng.random() < 0.5:
                a, b = b, a
            y = self.emit("MatMul", [a, b], [s[:-1] + (t[-1],) for s, t in zip(a.shapes, b.shapes)])
            return self.emit("Mul", [y, self.constant(self.float(0.1))], y.shapes)
        if kind == "value":
            b = self.pick(lambda v: v.rank >= 2 and v.dim(v.rank - 2) == a.dim(a.rank - 1))
            if b:
                try:
                    shapes = [np.matmul(np.zeros(s, np.int8), np.zeros(t, np.int8)).shape for s, t in zip(a.shapes, b.shapes)]
                except ValueError:
                    return None
                return self.emit("MatMul", [a, b], shapes)
        if not k:
            return None
        n = self.rng.choice([1, 3, 4, 8])
        y = self.emit("MatMul", [a, self.conv_weights([k, n])], [s[:-1] + (n,) for s in a.shapes])
        if self.rng.random() < 0.6:
            y = self.emit("Add", [y, self.constant(self.quarters([n]))], y.shapes)
        if self.rng.random() < 0.4:
            y = self.emit("Relu", [y], y.shapes)
        return y

    def op_resize(self):
        x = self.pick(lambda v: v.rank == 4 and all(0 not in s for s in v.shapes))
        if not x or self.float != np.float32:
            return None
        scale = self.rng.choice([2.0, 0.5, 1.5, 3.0])
        shapes = [s[:2] + (int(np.floor(s[2] * scale)), int(np.floor(s[3] * scale))) for s in x.shapes]
        if any(0 in s for s in shapes):
            return None
        mode = self.rng.choice(["nearest", "linear"])
        attrs = dict(mode=mode, coordinate_transformation_mode=self.rng.choice(["asymmetric", "half_pixel"] + (["align_corners", "pytorch_half_pixel"] if mode == "linear" else [])))
        if mode == "nearest":
            attrs["nearest_mode"] = self.rng.choice(["floor", "round_prefer_floor"])
        return self.emit("Resize", [x, "", self.constant(np.array([1, 1, scale, scale], np.float32))], shapes, **attrs)

    def op_expand(self):
        x = self.pick(lambda v: 1 <= v.rank <= 4 and any(set(v.dim(i)) == {1} for i in range(v.rank)))
        if not x:
            return None
        spec = [self.rng.choice([1, 3]) if set(x.dim(i)) == {1} else 1 for i in range(x.rank)]
        return self.emit("Expand", [x, self.constant(np.array(spec, np.int64))], [tuple(d * m for d, m in zip(s, spec)) for s in x.shapes], exact=x.exact)

    def op_tile(self):
        x = self.pick(lambda v: 1 <= v.rank <= 4)
        if not x:
            return None
        spec = [self.rng.choice([1, 1, 2]) for _ in range(x.rank)]
        return self.emit("Tile", [x, self.constant(np.array(spec, np.int64))], [tuple(d * m for d, m in zip(s, spec)) for s in x.shapes], exact=x.exact)

    def op_shuffle(self):
        x = self.pick(lambda v: v.rank == 4 and v.literal(1) and v.literal(1) % 4 == 0)
        if not x:
            return None
        return self.emit("DepthToSpace", [x], [(s[0], s[1] // 4, s[2] * 2, s[3] * 2) for s in x.shapes], exact=x.exact, blocksize=2,
                         mode=self.rng.choice(["DCR", "CRD"]))

    def op_cumsum(self):
        x = self.pick(lambda v: v.rank >= 1 and self.float == np.float32)
        if not x:
            return None
        return self.emit("CumSum", [x, self.constant(np.array(self.rng.randrange(x.rank), np.int64))], x.shapes, exclusive=self.rng.choice([0, 1]),
                         reverse=self.rng.choice([0, 1]))

    def op_if(self):
        """Both branches read x; the condition is an input or computed."""
        x = self.pick(lambda v: v.rank >= 1)
        if not x:
            return None
        if self.rng.random() < 0.5:
            cond = self.input([], np.bool_)
        else:
            s = self.emit("ReduceMax", [self.pick(lambda v: v.exact and all(0 not in t for t in v.shapes)) or x], [()] * CALLS, keepdims=0)
            if s.shapes and any(0 in t for t in x.shapes):
                return None
            cond = self.emit("Greater", [s, self.constant(self.float(1.0))], [()] * CALLS, np.bool_)
            self.values.remove(cond), self.values.remove(s)
        def branch(kind):
            out, mid = self.name("b"), self.name("b")
            if kind == "relu":
                nodes = [oh.make_node("Relu", [x.name], [mid]), oh.make_node("Add", [mid, x.name], [out])]
            elif kind == "identity":
                nodes = [oh.make_node("Identity", [x.name], [out])]
            elif kind == "softmax":
                nodes = [oh.make_node("Tanh", [x.name], [mid]), oh.make_node("Softmax", [mid], [out], axis=-1)]
            else:
                shape = self.name("b")
                nodes = [oh.make_node("Shape", [x.name], [shape]), oh.make_node("Sigmoid", [x.name], [mid]), oh.make_node("Reshape", [mid, shape], [out], allowzero=1)]
            return oh.make_graph(nodes, self.name("g"), [], [oh.make_tensor_value_info(out, oh.np_dtype_to_tensor_dtype(np.dtype(self.float)), None)])
        kinds = self.rng.sample(["relu", "identity", "softmax", "reshape"], 2)
        if any(0 in s for s in x.shapes) and "softmax" in kinds:
            return None
        return self.emit("If", [cond], x.shapes, then_branch=branch(kinds[0]), else_branch=branch(kinds[1]))

    # --- the whole part
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


def first_line(text):
    lines = [l for l in text.strip().splitlines() if l.strip()]
    return next((l for l in lines if "error" in l or "fault" in l), lines[-1] if lines else "")[:220]


def difference(got, want, half):
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)} for {want.dtype}{list(want.shape)}"
    if want.size == 0:
        return ""
    if want.dtype.kind != "f":
        bad = int((got != want).sum())
        return f"{bad} of {want.size} differ" if bad else ""
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite = np.abs(b[np.isfinite(b)])
    scale = max(1.0, float(finite.max()) if finite.size else 1.0)
    good = np.isclose(a, b, rtol=2e-2 if half else 1e-3, atol=(1e-2 if half else 5e-5) * scale, equal_nan=True)
    if good.all():
        return ""
    worst = np.nanmax(np.where(good, 0, np.abs(a - b)))
    return f"{int((~good).sum())} of {want.size} off, worst {worst:.3g}, scale {scale:.3g}"


class Runner:
    def __init__(self, args, folder):
        self.args, self.folder = args, pathlib.Path(folder)

    def check(self, parts, seed, only_outputs=None):
        """A list of (what, text); empty when everything agrees."""
        folder = self.folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        model = model_of(parts, only_outputs)
        onnx.save(model, folder / "m.onnx")
        names = {i.name for i in model.graph.input}
        calls = []
        for call in range(CALLS):
            feeds = {n: a for n, a in make_feeds(parts, call, seed).items() if n in names}
            (folder / str(call)).mkdir()
            np.savez(folder / str(call) / "feeds.npz", **feeds)
            calls.append(feeds)
        reference = self.reference(folder)
        if reference:
            return [("reference", reference)]
        tool, flags = pathlib.Path(self.args.bin), ["--stand-ins"] if self.args.no_libraries else []
        done = subprocess.run([tool / "dlcbc", folder / "m.onnx", "-o", folder / "m.dlcb", "--verify-each", *flags], capture_output=True, text=True, timeout=600)
        if done.returncode:
            return [("compile", f"exit {done.returncode}: {first_line(done.stderr)}")]
        faults = []
        for call, feeds in enumerate(calls):
            faults += self.run(tool, folder, call, feeds)
        return faults

    def reference(self, folder):
        for call in range(CALLS):
            done = subprocess.run([sys.executable, REFERENCE, folder / "m.onnx", folder / str(call)], capture_output=True, text=True, timeout=300)
            if done.returncode and not (folder / str(call) / "reference.npz").exists():
                text = first_line(done.stderr)
                if "Fail" in text or "INVALID" in text or "NOT_IMPLEMENTED" in text or "NotImplemented" in text:
                    return text
        return ""

    def run(self, tool, folder, call, feeds):
        path = folder / str(call) / "reference.npz"
        want = dict(np.load(path)) if path.exists() else {}
        want = {n[4:]: a for n, a in want.items() if n.startswith("off:")}
        if not want:
            return []
        cmd = [tool / "dlcb-run", folder / "m.dlcb", "--device", self.args.device, "--tf32", "off", "--output", folder / str(call) / "out"]
        cmd += ["--no-libraries"] if self.args.no_libraries else []
        for n, a in feeds.items():
            np.save(folder / str(call) / f"{n}.npy", a)
            cmd += ["--input", f"{n}=@{folder / str(call) / n}.npy"]
        done = subprocess.run(cmd, capture_output=True, text=True, timeout=600)
        if done.returncode:
            return [(f"run {call}", f"exit {done.returncode}: {first_line(done.stderr)}")]
        faults = []
        for n, w in want.items():
            got = np.load(folder / str(call) / "out" / f"{n}.npy")
            text = difference(got, w, w.dtype == np.float16)
            if text:
                faults.append((n, f"call {call}: {text}"))
        return faults

    def minimise(self, seed, part_index, count, steps):
        """The first tensor of the part, in graph order, that fails as the only output."""
        def fresh():
            return make_parts(seed, count, steps, {part_index})
        made = [o for n in fresh()[0].nodes for o in n.output]
        for name in made:
            parts = fresh()
            value = next((v for v in parts[0].values if v.name == name), None)
            if value is None:
                continue
            parts[0].outputs = [value]
            faults = self.check(parts, seed, {name})
            if faults and faults[0][0] != "reference":
                return name, faults
        return None, []


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True, help="folder of dlcbc and dlcb-run")
    ap.add_argument("--device", choices=("sim", "cuda"), default="sim")
    ap.add_argument("--no-libraries", action="store_true", help="generated kernels only")
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--count", type=int, default=20)
    ap.add_argument("--parts", type=int, default=5)
    ap.add_argument("--steps", type=int, default=9, help="operators per part at most")
    ap.add_argument("--only", type=int, action="append", help="part to keep; may be repeated")
    ap.add_argument("--work", default=None)
    ap.add_argument("--minimise", action="store_true")
    args = ap.parse_args()
    work = args.work or tempfile.mkdtemp(prefix="fuzz_graphs.")
    bad = 0
    for seed in range(args.seed, args.seed + args.count):
        runner = Runner(args, work)
        only = set(args.only) if args.only else None
        faults = runner.check(make_parts(seed, args.parts, args.steps, only), seed)
        # What stops the whole model hides the other parts: look at each alone.
        if faults and (faults[0][0] in ("compile", "reference") or faults[0][0].startswith("run")) and only is None:
            faults = []
            for i in range(args.parts):
                faults += [(f"part {i} {w}", t) for w, t in runner.check(make_parts(seed, args.parts, args.steps, {i}), seed)]
            faults = [f for f in faults if "reference" not in f[0]]
        for what, text in faults:
            print(f"seed {seed} {what}: {text}", flush=True)
        bad += bool(faults)
        if faults and args.minimise:
            indices = sorted(only or {int(w.split()[1]) if w.startswith("part") else int(w[1:].split("_")[0]) for w, _ in faults})
            for i in indices:
                name, small = runner.minimise(seed, i, args.parts, args.steps)
                if name:
                    keep = pathlib.Path(f"{work}.seed{seed}_part{i}.onnx")
                    shutil.copy(pathlib.Path(work) / "m.onnx", keep)
                    print(f"  part {i}: {name}: {small[0][1]}  ({keep})", flush=True)
    print(f"{args.count} models, {bad} with differences")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
