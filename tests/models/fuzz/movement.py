"""Operators that only move elements."""
import numpy as np
from onnx import helper as oh

from fuzz.part import CALLS, Builder, Value


class Movement(Builder):
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
