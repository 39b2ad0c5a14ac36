#!/usr/bin/env python3
"""Long reductions with few outputs, in one launch and in two, beside torch in the same run.

usage: reductions.py --build DIR [--out FILE.json] [--from N,N,...] [--model FILE.onnx=SHAPE ...]

Every graph is compiled once for each value of --from (dlcbc --split-from; 0: one launch always). Times are those of the kernels alone,
as the profiler sees them, and of a call in a row of calls. A --model has one float input of that shape, 1x3x640x640, and is timed
as a whole; "change" is how far its outputs are from those of the first value, with TF32 off. Numbers of the rest are checked
against float64.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

import onnx
import torch
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).parent))
import dlcb
from kernel_times import kernels
from speed import timed


def graph(path, op, dims, axes):
    """`op` over `axes` of an input whose dims are numbers or names."""
    describe = lambda name, d: helper.make_tensor_value_info(name, TensorProto.FLOAT, d)
    inputs, more, attributes = ["x"], [], {}
    if op == "Softmax":
        attributes["axis"] = axes[0]
        out = dims
    else:
        more = [helper.make_tensor("axes", TensorProto.INT64, [len(axes)], axes)]
        inputs, attributes["keepdims"] = ["x", "axes"], 0
        out = [d for i, d in enumerate(dims) if i not in axes]
    g = helper.make_graph([helper.make_node(op, inputs, ["y"], **attributes)], "g", [describe("x", dims)], [describe("y", out)], more)
    onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


# name -> (op, dims, axes, torch's, shapes)
CASES = {
    "sum of all": ("ReduceSum", ["A", "B"], [0, 1], lambda x: x.sum(), [(1, 1 << 24), (1, (1 << 24) + 1), (1, 1 << 18), (1, 1 << 15)]),
    "largest of rows": ("ReduceMax", ["A", "B"], [1], lambda x: x.amax(1), [(1, 1 << 20), (8, 1 << 20), (64, 50177), (100, 40000)]),
    "mean of pixels": ("ReduceMean", ["N", "H", "W", 96], [1, 2], lambda x: x.mean((1, 2)),
                       [(1, 160, 160, 96), (1, 80, 80, 96), (1, 64, 64, 96), (1, 45, 46, 96), (1, 32, 32, 96), (8, 160, 160, 96),
                        (8, 64, 64, 96), (32, 160, 160, 96), (32, 80, 80, 96), (128, 80, 80, 96)]),
    "mean of pixels, odd": ("ReduceMean", ["N", "H", "W", 25], [1, 2], lambda x: x.mean((1, 2)), [(1, 160, 160, 25), (4, 160, 160, 25)]),
    "softmax of rows": ("Softmax", ["A", "B"], [1], lambda x: torch.softmax(x, 1), [(1, 1 << 20)]),
}


def kernel_us(fn):
    return sum(us for us, _ in kernels(fn).values())


def bundle_of(options, folder, path, start, name):
    out = f"{folder}/{name}.{start}.dlcb"
    subprocess.run([options.build / "bin/dlcbc", path, "-o", out, "--quiet", "--cache-dir", f"{folder}/cache", "--split-from", str(start)], check=True)
    return load(options, out)


def load(options, bundle, **more):
    return dlcb.Model(bundle, library=str(options.build / "lib/libdlcb.so"), **more)


def run_case(options, folder, name, results):
    op, dims, axes, reference, shapes = CASES[name]
    path = f"{folder}/m.onnx"
    graph(path, op, dims, axes)
    bundles = {start: bundle_of(options, folder, path, start, "m") for start in options.starts}
    for shape in shapes:
        x = torch.rand(shape, device="cuda") - 0.25
        want = reference(x.double())
        row = {"case": name, "shape": shape, "torch_kernels": kernel_us(lambda: reference(x)), "torch_call": timed(lambda: reference(x), 0.1)}
        for start, bundle in bundles.items():
            run, (y,) = bundle.bind(x)
            y.fill_(float("nan"))
            run()
            error = float((y.double() - want).abs().max() / want.abs().max())
            first = y.clone()
            run()
            row[str(start)] = {"kernels": kernel_us(run), "call": timed(run, 0.1), "error": error, "same": bool((first == y).all())}
            if not error < 1e-5 or not row[str(start)]["same"]:
                row["wrong"] = True
        results.append(row)
        show(name, shape, row, options.starts, f"torch {row['torch_kernels']:7.1f} {row['torch_call']:7.1f}")


def show(name, shape, row, starts, more=""):
    cells = [f"{s}: {row[str(s)]['kernels']:7.1f} {row[str(s)]['call']:7.1f}" for s in starts]
    print(f"{name:20} {'x'.join(map(str, shape)):16} {' | '.join(cells)} | {more}{'  WRONG' if row.get('wrong') else ''}", flush=True)


def run_model(options, folder, path, shapes, results):
    bundles = {start: bundle_of(options, folder, path, start, Path(path).stem) for start in options.starts}
    for shape in shapes:
        x = torch.randn(shape, device="cuda")
        row, outputs = {"case": Path(path).stem, "shape": shape}, {}
        for start, bundle in bundles.items():
            exact = load(options, f"{folder}/{Path(path).stem}.{start}.dlcb", allow_tf32_conv=0)
            outputs[start] = exact(x)
            torch.cuda.synchronize()
            exact.close()
            run, _ = bundle.bind(x)
            row[str(start)] = {"kernels": kernel_us(run), "call": timed(run, 0.3)}
        one = outputs[options.starts[0]]
        row["largest_change"] = max(float((a - b).abs().max() / a.abs().max()) for o in outputs.values() for a, b in zip(one, o))
        results.append(row)
        show(row["case"], shape, row, options.starts, f"change {row['largest_change']:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="cases; default: all")
    parser.add_argument("--build", type=Path, required=True, help="folder that holds bin/dlcbc and lib/libdlcb.so")
    parser.add_argument("--from", dest="starts", type=lambda t: [int(n) for n in t.split(",")], default=[0, 2048])
    parser.add_argument("--model", action="append", default=[], metavar="FILE.onnx=SHAPE,SHAPE")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    results = []
    print("microseconds: of the kernels, of a call")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or CASES:
            run_case(options, folder, name, results)
        for text in options.model:
            path, _, shapes = text.partition("=")
            run_model(options, folder, path, [tuple(int(n) for n in s.split("x")) for s in shapes.split(",")], results)
    if options.out:
        about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda, "date": str(date.today())}
        options.out.write_text(json.dumps({**about, "results": results}, indent=1) + "\n")
    sys.exit(1 if any(r.get("wrong") for r in results) else 0)


if __name__ == "__main__":
    main()
