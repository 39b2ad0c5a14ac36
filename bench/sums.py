#!/usr/bin/env python3
"""What a sum after a library call costs with two builds: sums.py --before DIR --after DIR [--models DIR] [--out FILE.json]

Small graphs, made here: a matrix product with a bias whose result is added to another tensor (and normalised), and a block
of a residual network (NHWC inside), in three element types with dynamic sizes. With --models also the models that
bench/export_models.py made there. Both builds' bundles are timed by turns, and their results compared.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper, save

sys.path.insert(0, str(Path(__file__).parent))
import dlcb
from export_models import NAMES
from speed import inputs_for, relative, timed

TYPES = {"f32": (TensorProto.FLOAT, torch.float32), "f16": (TensorProto.FLOAT16, torch.float16), "bf16": (TensorProto.BFLOAT16, torch.bfloat16)}
PRODUCTS = ((768, 768), (3072, 768), (384, 384), (1536, 384))  # k, n
BLOCKS = ((64, 256, 56), (128, 512, 28), (256, 1024, 14), (512, 2048, 7))  # channels of both ends, height and width


class Model:
    def __init__(self, dtype):
        self.dtype, self.nodes, self.constants, self.count = dtype, [], [], 0
        self.rng = np.random.default_rng(1)

    def add(self, op, inputs, **attributes):
        self.count += 1
        self.nodes.append(helper.make_node(op, inputs, [f"t{self.count}"], name=f"n{self.count}", **attributes))
        return f"t{self.count}"

    def constant(self, shape, scale):
        self.count += 1
        name = f"w{self.count}"
        self.constants.append(numpy_helper.from_array((self.rng.standard_normal(shape) * scale).astype(np.float32), name))
        return name if self.dtype == "f32" else self.add("Cast", [name], to=TYPES[self.dtype][0])

    def write(self, path, inputs, outputs):
        kind = TYPES[self.dtype][0]
        infos = [[helper.make_tensor_value_info(n, kind, dims) for n, dims in side] for side in (inputs, [(n, None) for n in outputs])]
        graph = helper.make_graph(self.nodes, "sum", *infos, self.constants)
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def write_product(path, dtype, k, n, norm):
    m = Model(dtype)
    product = m.add("Add", [m.add("MatMul", ["x", m.constant((k, n), k ** -0.5)]), m.constant((n,), 1)])
    outputs = [m.add("Add", ["r", product])]
    if norm:
        outputs.append(m.add("LayerNormalization", [outputs[0], m.constant((n,), 1), m.constant((n,), 1)], axis=-1))
    m.write(path, [("x", ["M", k]), ("r", ["M", n])], outputs)


def write_block(path, dtype, c, k):
    m = Model(dtype)

    def conv(x, inner, outer):
        return m.add("Conv", [x, m.constant((outer, inner, 1, 1), inner ** -0.5), m.constant((outer,), 1)])

    skip = conv("x", c, k)
    y = m.add("Relu", [m.add("Add", [conv(m.add("Relu", [conv("x", c, c)]), c, k), skip])])
    m.write(path, [("x", ["N", c, "H", "W"])], [conv(y, k, 16)])


def cases(folder):
    """(name, model, element type, for each size its input shapes)."""
    for dtype in TYPES:
        for norm in (False, True):
            for k, n in PRODUCTS[: 2 if norm else None]:
                path = f"{folder}/{'normed' if norm else 'product'}-{dtype}-{k}-{n}.onnx"
                write_product(path, dtype, k, n, norm)
                yield Path(path).stem, path, dtype, {m: [(m, k), (m, n)] for m in (197, 6304)}
        for c, k, side in BLOCKS:
            path = f"{folder}/block-{dtype}-{c}-{k}.onnx"
            write_block(path, dtype, c, k)
            yield Path(path).stem, path, dtype, {n: [(n, c, side, side)] for n in (1, 32)}


def compare(args, name, source, given_for, sizes, folder, seconds):
    """One row for each size."""
    loaded = {}
    for way, build in (("before", args.before), ("after", args.after)):
        bundle = f"{folder}/{way}.dlcb"
        subprocess.run([f"{build}/bin/dlcbc", source, "-o", bundle, "--no-cache", "--quiet"], check=True)
        loaded[way] = dlcb.Model(bundle, f"{build}/lib/libdlcb.so")
    for size in sizes:
        given = given_for(size)
        bound = {way: model.bind(*given) for way, model in loaded.items()}
        us = {way: float("inf") for way in bound}
        for _ in range(3):
            for way, (run, _) in bound.items():
                us[way] = min(us[way], timed(run, seconds))
        outputs = [o for _, o in bound.values()]
        row = {"case": name, "size": size, **{f"{way}_us": round(t, 2) for way, t in us.items()},
               "ratio": round(us["after"] / us["before"], 4), "difference": max(relative(a, b) for a, b in zip(*outputs))}
        print(json.dumps(row), flush=True)
        yield row
    for model in loaded.values():
        model.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--models")
    parser.add_argument("--out")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path, dtype, shapes in cases(folder):
            make = lambda size: [torch.randn(s, device="cuda").to(TYPES[dtype][1]) for s in shapes[size]]
            rows += compare(args, name, path, make, list(shapes), folder, 0.05)
        for name in NAMES if args.models else ():
            rows += compare(args, name, f"{args.models}/{name}.onnx", lambda batch: inputs_for(name, batch), [1, 8, 32], folder, 0.2)
    if args.out:
        record = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "date": str(date.today()), "rows": rows}
        Path(args.out).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
