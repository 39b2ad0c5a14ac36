"""Elementwise operators, casts, and the written-out forms that the compiler recognises."""
import numpy as np
from onnx import TensorProto as T, helper as oh

from fuzz.part import CALLS, Builder, Value


class Pointwise(Builder):
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

    def op_quotient(self):
        """A quotient of exact numbers that is rounded, truncated or compared: an error of one ulp would show."""
        x = self.pick(lambda v: v.exact)
        if not x or self.float != np.float32:
            return None
        scale = self.constant(self.float(self.rng.choice([3, 10, 0.75, 255])))
        whole = self.emit("Mul", [x, scale], x.shapes, exact=True) if self.rng.random() < 0.5 else x
        if self.rng.random() < 0.3:
            whole = self.emit("Transpose", [whole], [tuple(reversed(s)) for s in x.shapes], exact=True)
        quotient = self.emit("Div", [whole, scale], whole.shapes)
        self.values.remove(quotient)  # elsewhere it may be off by an ulp
        kind = self.rng.choice(["Floor", "Ceil", "Round", "Cast", "Less"])
        if kind == "Cast":
            i = self.emit("Cast", [quotient], whole.shapes, np.int32, exact=True, to=T.INT32)
            return self.emit("Cast", [i], whole.shapes, exact=True, to=T.FLOAT)
        if kind == "Less":
            c = self.emit("Less", [quotient, self.constant(self.float(1))], whole.shapes, np.bool_, exact=True)
            return self.emit("Where", [c, whole, self.constant(self.float(-1))], whole.shapes, exact=True)
        return self.emit(kind, [quotient], whole.shapes, exact=True)
