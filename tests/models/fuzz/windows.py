"""Convolutions and what follows them, pooling, resizing."""
import numpy as np

from fuzz.part import CALLS, Builder, Value


class Windows(Builder):
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

    def op_shuffle(self):
        x = self.pick(lambda v: v.rank == 4 and v.literal(1) and v.literal(1) % 4 == 0)
        if not x:
            return None
        return self.emit("DepthToSpace", [x], [(s[0], s[1] // 4, s[2] * 2, s[3] * 2) for s in x.shapes], exact=x.exact, blocksize=2,
                         mode=self.rng.choice(["DCR", "CRD"]))
