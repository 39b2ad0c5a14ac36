"""Reductions, norms, running sums, matrix products."""
import numpy as np
from onnx import helper as oh

from fuzz.part import Builder


class Reductions(Builder):
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

    def op_cumsum(self):
        x = self.pick(lambda v: v.rank >= 1 and self.float == np.float32)
        if not x:
            return None
        return self.emit("CumSum", [x, self.constant(np.array(self.rng.randrange(x.rank), np.int64))], x.shapes, exclusive=self.rng.choice([0, 1]),
                         reverse=self.rng.choice([0, 1]))

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
        if self.rng.random() < 0.2:
            y = self.emit("Mul", [y, self.constant(self.float(0.5))], y.shapes)
        if self.rng.random() < 0.6:
            y = self.emit("Add", [y, self.constant(self.quarters([n]))], y.shapes)
        if self.rng.random() < 0.4:
            y = self.emit("Add", [y, self.pick(lambda v: v.shapes == y.shapes and v is not y) or y], y.shapes)
        if self.rng.random() < 0.4:
            y = self.emit("Relu", [y], y.shapes)
        return y
