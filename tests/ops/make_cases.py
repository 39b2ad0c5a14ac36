"""Writes tests/ops/cases/*.txt: operators with small inputs and what they must give, from numpy and the ONNX reference
evaluator (pip: numpy, onnx). Seeded, so that a rerun changes nothing.  python tests/ops/make_cases.py

One case is:   case NAME OP / attr NAME TYPE VALUES.. / in DTYPE DIMS : ELEMENTS / literal OPERAND AXIS.. / out .. / tol T / end
'in -' is an absent operand. 'literal' axes keep their size when the runner repeats a case with symbolic dims.
"""
import os
import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "uint8": "u8", "int8": "i8", "bool": "bool"}
families = {}
rng = np.random.default_rng(7)


def tensor(x):
    x = np.asarray(x)
    if x.dtype == bool:
        values = x.astype(int).ravel()
    else:
        values = x.ravel()
    text = " ".join(np.format_float_positional(v, unique=True, trim="-") if np.isfinite(v) and x.dtype.kind == "f" else str(v).lower() for v in values)
    return f"{NAMES[x.dtype.name]} {' '.join(map(str, x.shape))} : {text}"


def attr(name, value):
    if isinstance(value, tuple):
        kind, v = value
        return f"attr {name} {kind} {' '.join(str(e) for e in (v if isinstance(v, (list, tuple)) else [v]))}"
    if isinstance(value, bool) or isinstance(value, int):
        return f"attr {name} int {int(value)}"
    if isinstance(value, float):
        return f"attr {name} float {value!r}"
    return f"attr {name} string {value}"


def case(family, op, inputs, out, name="", literal=(), tol=2e-6, **attrs):
    lines = families.setdefault(family, [])
    index = sum(1 for l in lines if l.startswith("case "))
    lines.append(f"case {op}_{name or index} {op}")
    lines += [attr(k, v) for k, v in attrs.items()]
    for x in inputs:
        lines.append("in -" if x is None else "in " + tensor(x))
    lines += [f"literal {o} {' '.join(map(str, a))}" for o, a in literal]
    lines.append("out " + tensor(out))
    lines += [f"tol {tol}", "end"]


def onnx_ref(op_type, inputs, opset=20, **attrs):
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    node = helper.make_node(op_type, names, ["y"], **attrs)
    types = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in zip(names, inputs) if n]
    graph = helper.make_graph([node], "g", types, [helper.make_tensor_value_info("y", 1, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, {n: x for n, x in zip(names, inputs) if n})[0]


def f32(*shape, lo=-2.0, hi=2.0):
    return np.round(rng.uniform(lo, hi, shape), 3).astype(np.float32)


def ints(*shape, lo=-9, hi=9, dtype=np.int64):
    return rng.integers(lo, hi, shape).astype(dtype)


E, I, D, R = (lambda *v: ("exprs", v)), (lambda *v: ("ints", v)), (lambda v: ("dtype", v)), (lambda *v: ("floats", v))


def pointwise():
    f = "pointwise"
    special = np.array([-3.5, -2.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.5, 3.5], np.float32)
    unit = np.linspace(-0.9, 0.9, 7).astype(np.float32)
    positive = np.array([0.25, 0.5, 1, 2, 10], np.float32)
    table = {"Neg": special, "Abs": special, "Sign": special, "Exp": special, "Log": positive, "Sqrt": positive, "Reciprocal": positive, "Erf": special,
             "Tanh": special, "Sigmoid": special, "Sin": special, "Cos": special, "Tan": unit, "Asin": unit, "Acos": unit, "Atan": special, "Sinh": unit,
             "Cosh": unit, "Asinh": special, "Acosh": positive + 1, "Atanh": unit, "Floor": special, "Ceil": special, "Round": special, "Relu": special,
             "Softplus": special, "Softsign": special, "HardSwish": special, "Identity": special, "Mish": special, "LeakyRelu": special, "Elu": special,
             "Selu": special, "Celu": special, "HardSigmoid": special, "ThresholdedRelu": special}
    rename = {"LeakyRelu": "leaky_relu", "HardSwish": "hard_swish", "HardSigmoid": "hard_sigmoid", "ThresholdedRelu": "thresholded_relu"}
    for op, x in table.items():
        case(f, rename.get(op, op.lower()), [x], onnx_ref(op, [x]), tol=1e-5)
    case(f, "rsqrt", [positive], (1 / np.sqrt(positive.astype(np.float64))).astype(np.float32))
    case(f, "silu", [special], (special / (1 + np.exp(-special.astype(np.float64)))).astype(np.float32))
    odd = np.array([np.nan, np.inf, -np.inf, 0, 1], np.float32)
    case(f, "is_nan", [odd], np.isnan(odd))
    case(f, "is_inf", [odd], np.isinf(odd))
    case(f, "relu", [odd], np.maximum(odd, 0), "nan")
    i = ints(6)
    case(f, "abs", [i], np.abs(i), "int")
    case(f, "neg", [i], -i, "int")
    case(f, "floor", [i], i, "int")
    case(f, "bit_not", [i], ~i)
    b = np.array([True, False, True])
    case(f, "logical_not", [b], ~b)
    case(f, "leaky_relu", [special], np.where(special < 0, special * np.float32(0.3), special), "alpha", alpha=0.3)
    case(f, "gelu", [special], onnx_ref("Gelu", [special]), "erf", tol=1e-5)
    case(f, "gelu", [special], onnx_ref("Gelu", [special], approximate="tanh"), "tanh", tol=1e-5, approximate="tanh")
    case(f, "clip", [special], np.clip(special, -1, 2), "both", min=-1.0, max=2.0)
    case(f, "clip", [special], np.maximum(special, -1), "low", min=-1.0)
    case(f, "clip", [i], np.clip(i, 0, 5), "int", min=0.0, max=5.0)
    case(f, "clip", [special], special, "none")
    case(f, "cast", [special], special.astype(np.int64), "toward_zero", to=D("i64"))
    case(f, "cast", [np.array([300, -1, 5])], np.array([300, -1, 5]).astype(np.uint8), "wrap", to=D("u8"))
    case(f, "cast", [special], special.astype(np.float16), "half", to=D("f16"))
    case(f, "cast", [special], special != 0, "bool", to=D("bool"))
    case(f, "cast", [i], i.astype(np.float32), "float", to=D("f32"))
    case(f, "relu", [np.zeros((0, 3), np.float32)], np.zeros((0, 3), np.float32), "empty")
    case(f, "exp", [np.float32(1)], np.exp(np.float32(1)), "rank0")
    half = np.array([1.0009765625, 2, 65504, 6e-8], np.float16)
    case(f, "sqrt", [half], np.sqrt(half), "half", tol=1e-3)


def elementwise():
    f = "elementwise"
    a, b = f32(2, 1, 3), f32(4, 1)
    ufuncs = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum, "max": np.maximum, "eq": np.equal,
              "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "mod": np.mod, "rem": np.fmod}
    for op, u in ufuncs.items():
        case(f, op, [a, b], u(a, b), "broadcast", tol=1e-5)
        x, y = ints(2, 3), ints(3)
        y = np.where(y == 0, 4, y)
        expected = u(x, y) if op != "div" else (np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y)))
        case(f, op, [x, y], expected, "int")
    case(f, "pow", [np.abs(a) + 1, b], np.power(np.abs(a) + 1, b), tol=1e-5)
    x, y = ints(4, lo=0, hi=5), ints(4, lo=0, hi=4)
    case(f, "pow", [x, y], x ** y, "int")
    p, q = np.array([True, True, False, False]), np.array([True, False, True, False])
    case(f, "logical_and", [p, q], p & q)
    case(f, "logical_or", [p, q], p | q)
    case(f, "logical_xor", [p, q], p ^ q)
    x, y = ints(5, lo=0, hi=99), ints(5, lo=0, hi=7)
    for op, u in {"bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor, "shift_left": np.left_shift, "shift_right": np.right_shift}.items():
        case(f, op, [x, y], u(x, y))
    x, s = f32(2, 3, 4), f32(3, 1)
    case(f, "prelu", [x, s], np.where(x < 0, x * s, x))
    c = np.array([[True], [False]])
    x = f32(1, 3)
    case(f, "select", [c, x, np.float32(5)], np.where(c, x, np.float32(5)))
    x, y = f32(2, 3), f32(2, 3)
    case(f, "merge", [x, y], x, "then", cond=E(1))
    case(f, "merge", [x, y], y, "else", cond=E(0))
    for shape in [(0, 3), ()]:
        x = f32(*shape)
        case(f, "add", [x, np.float32(1)], x + np.float32(1), f"shape{len(shape)}")
    nan = np.array([np.nan, 1, 2], np.float32)
    case(f, "max", [nan, np.float32(1.5)], np.maximum(nan, np.float32(1.5)), "nan")


def structure():
    f = "structure"
    x = f32(2, 3, 4)
    for n, shape in enumerate([(6, 4), (2, 12), (24,), (4, 3, 2), (2, 3, 2, 2), (1, 2, 3, 1, 4), (8, 3)]):
        case(f, "reshape", [x], x.reshape(shape), f"to{n}", literal=[(0, (0, 1, 2))], shape=E(*shape))
    one = f32(1, 1)
    case(f, "reshape", [one], one.reshape(()), "rank0", literal=[(0, (0, 1))], shape=E())
    empty = np.zeros((0, 4), np.float32)
    case(f, "reshape", [empty], empty.reshape(0, 2, 2), "empty", shape=E(0, 2, 2))
    case(f, "transpose", [x], x.transpose(2, 0, 1), perm=I(2, 0, 1))
    y = f32(3, 1)
    case(f, "broadcast_to", [y], np.broadcast_to(y, (2, 3, 4)), "wide", shape=E(2, 3, 4))
    case(f, "broadcast_to", [y], np.broadcast_to(y, (3, 5)), "two_way", shape=E(1, 5))
    case(f, "slice", [x], x[:, 1:3, ::-1], "reverse", axes=I(1, 2), starts=E(1, 3), steps=I(1, -1), extents=E(2, 4))
    case(f, "slice", [x], x[..., 1:4:2], "step", axes=I(-1), starts=E(1), steps=I(2), extents=E(2))
    case(f, "slice", [x], x[:0], "empty", axes=I(0), starts=E(0), extents=E(0))
    a, b, c = f32(2, 1), f32(2, 3), f32(2, 0)
    case(f, "concat", [a, b, c, a], np.concatenate([a, b, c, a], 1), axis=-1)
    for mode in ["constant", "edge", "reflect", "wrap"]:
        p = f32(3, 4)
        case(f, "pad", [p], np.pad(p, ((1, 2), (0, 3)), mode=mode), mode, lo=E(1, 0), hi=E(2, 3), mode=mode)
    p = f32(3, 4)
    for mode in ("wrap", "reflect"):
        case(f, "pad", [p], np.pad(p[:-1, 1:], ((1, 0), (0, 2)), mode=mode), mode + "_crop", lo=E(1, -1), hi=E(-1, 2), mode=mode)
    case(f, "pad", [p], np.pad(p[1:], ((0, 0), (2, 1)), constant_values=7), "crop", lo=E(-1, 2), hi=E(0, 1), value=7.0)
    case(f, "tile", [b], np.tile(b, (2, 3)), repeats=E(2, 3))


def indexing():
    f = "indexing"
    x = f32(3, 4, 2)
    ids = np.array([[0, -1], [2, 1]])
    for axis in (0, 1, -2):
        case(f, "gather", [x, ids], np.take(x, ids, axis), f"axis{axis}", axis=axis)
    case(f, "gather", [x, np.int64(1)], x[1], "scalar")
    case(f, "gather", [x, np.array([99, -99])], x[[2, 0]], "clamped")
    ids = np.array([[0, 3, -1], [1, 2, 0], [0, 0, -4]])
    y = f32(3, 4)
    case(f, "gather_elements", [y, ids], np.take_along_axis(y, ids, 1), axis=1)
    ids = np.array([[0, 1], [2, -1]])
    case(f, "gather_nd", [x, ids], x[(ids[:, 0], ids[:, 1])], literal=[(1, (1,))])
    ids = np.array([[1], [0], [3]])
    case(f, "gather_nd", [x, ids], np.stack([x[n, ids[n, 0]] for n in range(3)]), "batch", literal=[(1, (1,))], batch_dims=1)
    case(f, "iota", [], np.arange(3, 3 + 2 * 4, 2), start=E(3), step=E(2), extent=E(4), dtype=D("i64"))
    case(f, "iota", [], np.arange(4, dtype=np.float32), "float", start=E(0), step=E(1), extent=E(4), dtype=D("f32"))
    case(f, "ints", [], np.array([7, 8, -9]), elements=E(7, 8, -9))
    case(f, "ints", [], np.int32(5), "scalar", elements=E(5), dtype=D("i32"), scalar=1)
    case(f, "ints", [], np.zeros(0, np.int64), "empty", elements=E())
    case(f, "fill", [], np.full((2, 3), 1.5, np.float32), value=1.5, dtype=D("f32"), shape=E(2, 3))
    ids = np.array([0, 2, -1, 5])
    hot = np.where((np.where(ids < 0, ids + 3, ids)[:, None] == np.arange(3)), 2, -1).astype(np.float32)
    case(f, "one_hot", [ids], hot, depth=E(3), on=2.0, off=-1.0, dtype=D("f32"))
    case(f, "one_hot", [ids], hot.T.copy(), "front", depth=E(3), axis=0, on=2.0, off=-1.0, dtype=D("f32"))
    m = f32(2, 3, 4)
    for upper, k in [(0, 0), (0, 1), (1, 0), (1, -1)]:
        case(f, "triangular", [m], (np.triu if upper else np.tril)(m, k), f"u{upper}k{k}".replace("-", "m"), upper=upper, k=E(k))
    for exclusive in (0, 1):
        for reverse in (0, 1):
            case(f, "cumsum", [m], onnx_ref("CumSum", [m, np.int64(1)], exclusive=exclusive, reverse=reverse), f"e{exclusive}r{reverse}", tol=1e-5,
                 axis=1, exclusive=exclusive, reverse=reverse)


def reduction():
    f = "reduction"
    x, i = f32(2, 3, 4), ints(2, 3, 4)
    fns = {"reduce_sum": np.sum, "reduce_prod": np.prod, "reduce_max": np.max, "reduce_min": np.min, "reduce_mean": np.mean,
           "reduce_l1": lambda v, axis, keepdims: np.sum(np.abs(v), axis=axis, keepdims=keepdims),
           "reduce_l2": lambda v, axis, keepdims: np.sqrt(np.sum(v * v, axis=axis, keepdims=keepdims)),
           "reduce_sum_square": lambda v, axis, keepdims: np.sum(v * v, axis=axis, keepdims=keepdims),
           "reduce_log_sum": lambda v, axis, keepdims: np.log(np.sum(v, axis=axis, keepdims=keepdims)),
           "reduce_log_sum_exp": lambda v, axis, keepdims: np.log(np.sum(np.exp(v), axis=axis, keepdims=keepdims))}
    for op, fn in fns.items():
        v = np.abs(x) if op == "reduce_log_sum" else x
        for axes, keep in [((1,), True), ((0, -1), False), ((0, 1, 2), False), ((), True)]:
            case(f, op, [v], fn(v.astype(np.float64), axis=axes, keepdims=keep).astype(np.float32), f"a{''.join(map(str, axes)).replace('-', 'm')}k{int(keep)}", tol=1e-5,
                 axes=I(*axes), keepdims=int(keep))
        if op in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_l1", "reduce_sum_square"):
            case(f, op, [i], fn(i, axis=(1,), keepdims=False), "int", axes=I(1), keepdims=0)
    case(f, "reduce_sum", [np.zeros((2, 0), np.float32)], np.zeros((2, 1), np.float32), "empty", axes=I(1))
    case(f, "reduce_max", [np.zeros((2, 0), np.float32)], np.full((2, 1), -np.inf, np.float32), "empty", axes=I(1))
    case(f, "reduce_mean", [np.zeros((0, 3), np.float32)], np.zeros((0, 1), np.float32), "batch0", axes=I(1))
    half = np.full((4, 4), 30000, np.float16)
    case(f, "reduce_mean", [half], np.full((4, 1), 30000, np.float16), "no_overflow", axes=I(1))
    t = np.array([[1, 3, 3], [2, 2, 0]], np.float32)
    for op, fn in {"argmax": np.argmax, "argmin": np.argmin}.items():
        case(f, op, [x], fn(x, 1), "plain", axis=1, keepdims=0)
        case(f, op, [t], fn(t, 1)[:, None], "first", axis=-1)
        last = t.shape[1] - 1 - fn(t[:, ::-1], 1)
        case(f, op, [t], last[:, None], "last", axis=-1, select_last_index=1)
        unordered = np.array([[1, np.nan, 3, np.nan], [np.nan, 2, 0, 9], [-np.inf, np.inf, np.nan, 1]], np.float32)
        case(f, op, [unordered], fn(unordered, 1), "nan", axis=1, keepdims=0)  # numpy: the first NaN
        case(f, op, [unordered], 3 - fn(unordered[:, ::-1], 1), "nan_last", axis=1, keepdims=0, select_last_index=1)


def contraction():
    f = "contraction"
    for n, (a, b) in enumerate([((3, 4), (4, 2)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((4,), (4,)), ((4,), (2, 4, 3)), ((2, 3, 4), (4,)),
                                ((0, 4), (4, 2)), ((3, 0), (0, 2))]):
        x, y = f32(*a), f32(*b)
        case(f, "matmul", [x, y], np.matmul(x, y), f"s{n}", tol=1e-5)
    x, y = ints(2, 3), ints(3, 2)
    case(f, "matmul", [x, y], x @ y, "int")

    def conv(name, x, w, bias=None, group=1, strides=None, pads=None, dilations=None):
        n = x.ndim - 2
        strides, dilations, pads = strides or [1] * n, dilations or [1] * n, pads or [0] * (2 * n)
        y = onnx_ref("Conv", [x, w] + ([bias] if bias is not None else []), group=group, strides=strides, pads=pads, dilations=dilations)
        case(f, "conv", [x, w, bias] if bias is not None else [x, w], y, name, tol=2e-5, group=group, strides=I(*strides), lo=E(*pads[:n]), hi=E(*pads[n:]),
             dilations=I(*dilations))
    conv("plain", f32(1, 2, 5, 4), f32(3, 2, 3, 2), f32(3))
    conv("padded", f32(2, 3, 5, 6), f32(2, 3, 3, 3), None, 1, [2, 1], [1, 0, 2, 1])
    conv("depthwise", f32(1, 4, 5, 5), f32(4, 1, 3, 3), f32(4), 4, [2, 2], [1, 1, 1, 1])
    conv("groups", f32(1, 4, 4, 4), f32(6, 2, 1, 1), None, 2)
    conv("one_d", f32(2, 2, 9), f32(3, 2, 3), f32(3), 1, [2], [2, 1], [2])
    conv("three_d", f32(1, 1, 3, 3, 3), f32(2, 1, 2, 2, 2))
    x = f32(0, 2, 5, 4)
    case(f, "conv", [x, f32(3, 2, 3, 2)], np.zeros((0, 3, 3, 3), np.float32), "batch0")

    def deconv(name, x, w, bias=None, group=1, strides=None, pads=None, dilations=None, output_padding=None):
        n = x.ndim - 2
        strides, dilations, pads, extra = strides or [1] * n, dilations or [1] * n, pads or [0] * (2 * n), output_padding or [0] * n
        # By definition: scatter each input element times the kernel.
        size = [(x.shape[2 + a] - 1) * strides[a] + (w.shape[2 + a] - 1) * dilations[a] + 1 for a in range(n)]
        o = w.shape[1]
        full = np.zeros((x.shape[0], o * group, *[s + e for s, e in zip(size, extra)]), np.float64)
        per = x.shape[1] // group
        for idx in np.ndindex(*x.shape[2:]):
            for r in np.ndindex(*w.shape[2:]):
                at = tuple(i * s + k * d for i, s, k, d in zip(idx, strides, r, dilations))
                for g in range(group):
                    full[(slice(None), slice(g * o, g * o + o)) + at] += x[(slice(None), slice(g * per, g * per + per)) + idx] @ w[(slice(g * per, g * per + per), slice(None)) + r]
        cut = tuple(slice(pads[a], full.shape[2 + a] - pads[n + a]) for a in range(n))
        y = full[(slice(None), slice(None)) + cut]
        if bias is not None:
            y = y + bias.reshape(1, -1, *[1] * n)
        case(f, "conv_transpose", [x, w, bias] if bias is not None else [x, w], y.astype(np.float32), name, tol=2e-5, group=group, strides=I(*strides), lo=E(*pads[:n]),
             hi=E(*pads[n:]), dilations=I(*dilations), output_padding=I(*extra))
    deconv("plain", f32(1, 2, 3, 3), f32(2, 3, 2, 2), f32(3), 1, [2, 2])
    deconv("overlap", f32(1, 2, 3, 4), f32(2, 2, 3, 3), None, 1, [2, 1], [1, 1, 1, 0], None, [1, 0])
    deconv("groups", f32(2, 4, 3), f32(4, 2, 3), None, 2, [3], None, [2])


def pooling():
    f = "pooling"

    def windows(x, kernel, strides, dilations, lo, hi, ceil):
        out = []
        for a, k in enumerate(kernel):
            size, span = x.shape[2 + a] + lo[a] + hi[a], (k - 1) * dilations[a] + 1
            room = size - span
            p = int(np.ceil(room / strides[a])) + 1 if ceil else int(room / strides[a]) + 1
            if ceil and (p - 1) * strides[a] >= x.shape[2 + a] + lo[a]:
                p -= 1
            out.append(p)
        return out

    def pool(op, name, x, kernel, strides=None, dilations=None, lo=None, hi=None, ceil=0, include=0):
        n = len(kernel)
        strides, dilations, lo, hi = strides or [1] * n, dilations or [1] * n, lo or [0] * n, hi or [0] * n
        sizes = windows(x, kernel, strides, dilations, lo, hi, ceil)
        y = np.zeros((*x.shape[:2], *sizes))
        for p in np.ndindex(*sizes):
            taken, count = [], 0
            for r in np.ndindex(*kernel):
                at = [p[a] * strides[a] + r[a] * dilations[a] - lo[a] for a in range(n)]
                if all(0 <= at[a] < x.shape[2 + a] for a in range(n)):
                    taken.append(x[(slice(None), slice(None)) + tuple(at)].astype(np.float64))
                if all(-lo[a] <= at[a] < x.shape[2 + a] + hi[a] for a in range(n)):
                    count += 1
            key = (slice(None), slice(None)) + p
            if op == "max_pool":
                y[key] = np.max(taken, axis=0)
            elif op == "avg_pool":
                y[key] = np.sum(taken, axis=0) / (count if include else len(taken))
            else:
                y[key] = np.sqrt(np.sum(np.square(taken), axis=0))
        extra = {"count_include_pad": include} if op == "avg_pool" else {}
        case(f, op, [x], y.astype(x.dtype), name, tol=1e-5, kernel=I(*kernel), strides=I(*strides), dilations=I(*dilations), lo=E(*lo), hi=E(*hi), ceil_mode=ceil, **extra)

    x = f32(1, 2, 7, 6)
    for op in ("max_pool", "avg_pool", "lp_pool"):
        pool(op, "plain", x, [2, 3])
        pool(op, "padded", x, [3, 3], [2, 2], None, [1, 1], [1, 1])
        pool(op, "ceil", x, [3, 2], [2, 4], None, [0, 1], [1, 0], ceil=1)
        pool(op, "dilated", x, [2, 2], [1, 2], [2, 3], [1, 0], [0, 1])
        pool(op, "one_d", f32(2, 1, 8), [3], [2])
        pool(op, "larger_than_input", f32(1, 2, 2, 1), [3, 2], [2, 2])
    pool("avg_pool", "include", x, [3, 3], [2, 2], None, [1, 1], [1, 1], 0, 1)
    pool("avg_pool", "include_ceil", x, [3, 2], [3, 4], None, [1, 1], [1, 1], 1, 1)
    pool("avg_pool", "include_dilated", x, [2, 2], [2, 2], [2, 3], [1, 2], [1, 2], 0, 1)


def nearest_in_f32():
    """Sizes and positions as onnxruntime computes them in f32; the reference evaluator computes in f64."""
    f, one, half = np.float32, np.float32(1), np.float32(0.5)
    for mode in ("half_pixel", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"):
        for n, (length, scale, size) in enumerate([(9, 0.6, None), (30, 0.3, None), (30, 2.1, None), (26, 1.7, None), (7, 1.5, None), (20, None, 6), (7, None, 15)]):
            scale = f(scale) if scale else f(size) / f(length)
            i = np.arange(size or int(f(length) * scale), dtype=f)
            at = i / scale if mode == "asymmetric" else (i + half) / scale - half
            if mode == "half_pixel_symmetric":
                offset = f(length) / f(2) * (one - f(len(i)) / (scale * f(length)))
                at = (np.float64(offset) + (i + 0.5) / np.float64(scale) - 0.5).astype(f)
            at = np.maximum(at, f(0))
            beyond = at - np.floor(at) - half
            picks = {"floor": np.floor(at), "ceil": np.ceil(at), "round_prefer_ceil": np.floor(at) + (beyond >= f(-1e-6)),
                     "round_prefer_floor": np.floor(at) + (beyond > f(1e-6))}
            x = np.arange(length, dtype=f)
            how = {"sizes": E(size)} if size else {"scales": R(float(scale))}
            for rounding, pick in picks.items():
                case("resize", "resize", [x], np.minimum(pick, length - 1).astype(f), f"f32_{mode}_{rounding}_{n}", mode="nearest", nearest_mode=rounding,
                     coordinate_transformation_mode=mode, **how)


def resize():
    f = "resize"
    x = f32(1, 1, 4, 3)
    for ct in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"):
        for mode in ("nearest", "linear", "cubic"):
            for name, sizes in {"up": (7, 6), "down": (2, 2), "one": (1, 5)}.items():
                if (ct, mode, name) == ("pytorch_half_pixel", "cubic", "one"):
                    continue  # the evaluator takes position -0.5 where the specification says 0
                y = onnx_ref("Resize", [x, None, None, np.array([1, 1, *sizes])], mode=mode, coordinate_transformation_mode=ct)
                case(f, "resize", [x], y, f"{ct}_{mode}_{name}", tol=1e-5, mode=mode, coordinate_transformation_mode=ct, sizes=E(1, 1, *sizes))
    for nm in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        for scales in ((2, 2), (0.5, 1.5), (0.6, 0.7)):
            s = np.array([1, 1, *scales], np.float32)
            y = onnx_ref("Resize", [x, None, s], mode="nearest", nearest_mode=nm, coordinate_transformation_mode="asymmetric")
            case(f, "resize", [x], y, f"{nm}_{scales[0]}", mode="nearest", nearest_mode=nm, coordinate_transformation_mode="asymmetric", scales=R(*[float(v) for v in s]))
    nearest_in_f32()
    s = np.array([1, 1, 0.8, 0.8], np.float32)
    y = onnx_ref("Resize", [x, None, s], mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5)
    case(f, "resize", [x], y, "exclude", tol=1e-5, mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5, scales=R(*[float(v) for v in s]))
    roi = np.array([0, 0, 0.25, 0.5, 1, 1, 0.75, 1.25], np.float32)
    y = onnx_ref("Resize", [x, roi, None, np.array([1, 1, 3, 4])], mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0)
    case(f, "resize", [x], y, "crop", tol=1e-5, mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0, sizes=E(1, 1, 3, 4),
         roi=R(*[float(v) for v in roi]))


def composite():
    f = "composite"
    x = f32(2, 4, 3, 2)
    soft = lambda v, a: np.exp(v - v.max(a, keepdims=True)) / np.exp(v - v.max(a, keepdims=True)).sum(a, keepdims=True)
    for axis in (-1, 1):
        case(f, "softmax", [x], soft(x.astype(np.float64), axis).astype(np.float32), f"axis{axis}".replace("-", "m"), axis=axis)
        case(f, "log_softmax", [x], np.log(soft(x.astype(np.float64), axis)).astype(np.float32), f"axis{axis}".replace("-", "m"), axis=axis)
    case(f, "softmax", [np.zeros((0, 3), np.float32)], np.zeros((0, 3), np.float32), "batch0")

    def norm(v, axes, eps=1e-5):
        v = v.astype(np.float64)
        m = v.mean(axes, keepdims=True)
        return (v - m) / np.sqrt(((v - m) ** 2).mean(axes, keepdims=True) + eps)
    s, b = f32(3, 2), f32(3, 2)
    case(f, "layer_norm", [x, s, b], (norm(x, (2, 3)) * s + b).astype(np.float32), tol=1e-5, axis=2)
    case(f, "layer_norm", [x], norm(x, (3,), 1e-3).astype(np.float32), "bare", tol=1e-5, epsilon=1e-3)
    s = f32(2)
    v = x.astype(np.float64)
    case(f, "rms_norm", [x, s], (v / np.sqrt((v * v).mean(-1, keepdims=True) + 1e-5) * s).astype(np.float32), tol=1e-5)
    s, b = f32(4), f32(4)
    c = lambda t: t.reshape(4, 1, 1)
    case(f, "instance_norm", [x, s, b], (norm(x, (2, 3)) * c(s) + c(b)).astype(np.float32), tol=1e-5)
    case(f, "group_norm", [x, s, b], (norm(x.reshape(2, 2, 2, 3, 2), (2, 3, 4)).reshape(x.shape) * c(s) + c(b)).astype(np.float32), tol=1e-5, groups=2)
    m, var = f32(4), np.abs(f32(4)) + np.float32(0.1)
    case(f, "batch_norm", [x, s, b, m, var], ((x - c(m)) / np.sqrt(c(var) + 1e-5) * c(s) + c(b)).astype(np.float32), tol=1e-5)
    square = np.stack([(v[:, max(0, n - 1):n + 2] ** 2).sum(1) for n in range(4)], 1)
    case(f, "lrn", [x], (v / (1 + 0.1 / 3 * square) ** 0.75).astype(np.float32), tol=1e-5, size=3, alpha=0.1)
    q, k, w = f32(2, 3, 4), f32(2, 5, 4), f32(2, 5, 6)
    scores = q.astype(np.float64) @ k.transpose(0, 2, 1) / 2
    case(f, "attention", [q, k, w], (soft(scores, -1) @ w).astype(np.float32), "plain", literal=[(0, (2,))], tol=1e-5)
    mask = rng.uniform(size=(2, 3, 5)) < 0.7
    mask[..., 0] = True
    case(f, "attention", [q, k, w, mask], (soft(np.where(mask, scores, -np.inf), -1) @ w).astype(np.float32), "mask", literal=[(0, (2,))], tol=1e-5)
    tri = np.tril(np.ones((3, 5), bool))
    case(f, "attention", [q, k, w], (soft(np.where(tri, scores, -np.inf), -1) @ w).astype(np.float32), "causal", literal=[(0, (2,))], tol=1e-5, causal=1)


for make in (pointwise, elementwise, structure, indexing, reduction, contraction, pooling, resize, composite):
    make()
os.makedirs(HERE, exist_ok=True)
for family, lines in families.items():
    with open(os.path.join(HERE, family + ".txt"), "w") as out:
        out.write("# Written by make_cases.py.\n" + "\n".join(lines) + "\n")
