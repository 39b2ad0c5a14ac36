#!/usr/bin/env python3
"""Generated memory-bound kernels against the copy bandwidth of the same run: kernels.py --build DIR [--out FILE.json] [NAME ...]

Each case is one small ONNX graph with every size dynamic, compiled once per dtype, run on tensors of 64 MiB or more at several sizes.
Numbers are checked against torch in float64 first. "share" is the bytes that must move (inputs once, outputs once) over the time,
as a share of what a device-to-device copy of the same size reaches. Inputs rotate, so the cache never holds them.
"""
import argparse
import json
import statistics
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

TYPES = {"f32": (TensorProto.FLOAT, torch.float32, 1e-5), "f16": (TensorProto.FLOAT16, torch.float16, 2e-3)}
BYTES = 96 << 20  # of the largest input
SETS = 4          # inputs that take turns


def model(path, nodes, inputs, output, dtype, constants=()):
    """inputs, output: (name, [dim names]); every dim is dynamic."""
    kind = TYPES[dtype][0]
    describe = lambda io: helper.make_tensor_value_info(io[0], kind, io[1])
    graph = helper.make_graph(nodes, "g", [describe(i) for i in inputs], [describe(output)], list(constants))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def rows(length, size):
    return max(1, BYTES // size // length)


def bias_gelu(path, dtype):
    model(path, [helper.make_node("Add", ["x", "b"], ["t"]), helper.make_node("Gelu", ["t"], ["y"])],
          [("x", ["R", "C"]), ("b", ["C"])], ("y", ["R", "C"]), dtype)


def softmax(path, dtype):
    model(path, [helper.make_node("Softmax", ["x"], ["y"], axis=-1)], [("x", ["R", "C"])], ("y", ["R", "C"]), dtype)


def layer_norm(path, dtype):
    model(path, [helper.make_node("LayerNormalization", ["x", "s", "b"], ["y"], axis=-1, epsilon=1e-5)],
          [("x", ["R", "C"]), ("s", ["C"]), ("b", ["C"])], ("y", ["R", "C"]), dtype)


def channel_relu(path, dtype):
    axes = helper.make_tensor("axes", TensorProto.INT64, [2], [1, 2])
    model(path, [helper.make_node("Unsqueeze", ["b", "axes"], ["t"]), helper.make_node("Add", ["x", "t"], ["s"]),
                 helper.make_node("Relu", ["s"], ["y"])],
          [("x", ["N", "C", "H", "W"]), ("b", ["C"])], ("y", ["N", "C", "H", "W"]), dtype, [axes])


def to_nhwc(path, dtype):
    model(path, [helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 3, 1])], [("x", ["N", "C", "H", "W"])],
          ("y", ["N", "H", "W", "C"]), dtype)


def to_nchw(path, dtype):
    model(path, [helper.make_node("Transpose", ["x"], ["y"], perm=[0, 3, 1, 2])], [("x", ["N", "H", "W", "C"])],
          ("y", ["N", "C", "H", "W"]), dtype)


def planes(channels, height, width):
    return lambda size: [(rows(channels * height * width, size), channels, height, width)]


def pixels(channels, height, width):
    return lambda size: [(rows(channels * height * width, size), height, width, channels)]


IMAGES = ((64, 28, 28), (256, 14, 14), (128, 56, 56), (67, 7, 7), (64, 111, 111), (24, 30, 30), (49, 10, 10), (100, 13, 13), (255, 20, 20))


def matrix(length, *vectors):
    return lambda size: [(rows(length, size), length), *[(length,)] * len(vectors)]


# graph -> (build, reference, {label: shapes of the inputs for an element size})
CASES = {
    "bias_gelu": (bias_gelu, lambda x, b: torch.nn.functional.gelu(x + b),
                  {str(n): matrix(n, "b") for n in (3072, 768, 1023, 77)}),
    "softmax": (softmax, lambda x: torch.softmax(x, -1), {str(n): matrix(n) for n in (64, 1000, 4096, 77, 1023)}),
    "layer_norm": (layer_norm, lambda x, s, b: torch.nn.functional.layer_norm(x, s.shape, s, b, 1e-5),
                   {str(n): matrix(n, "s", "b") for n in (768, 1024, 77)}),
    "channel_relu": (channel_relu, lambda x, b: torch.relu(x + b[:, None, None]),
                     {f"{h * w}": (lambda size, h=h, w=w: [*planes(256, h, w)(size), (256,)])
                      for h, w in ((7, 7), (28, 28), (56, 56), (111, 111))}),
    "nhwc": (to_nhwc, lambda x: x.permute(0, 2, 3, 1),
             {f"{c}x{h * w}": planes(c, h, w) for c, h, w in IMAGES}),
    "nchw": (to_nchw, lambda x: x.permute(0, 3, 1, 2), {f"{c}x{h * w}": pixels(c, h, w) for c, h, w in IMAGES}),
}


def timed(calls, repeat=15):
    """Median microseconds of one call; `calls` take turns, between two events."""
    for call in calls:
        call()
    samples = []
    for _ in range(repeat):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for call in calls:
            call()
        b.record()
        b.synchronize()
        samples.append(a.elapsed_time(b) * 1000 / len(calls))
    return statistics.median(samples)


def copy_bandwidth(size):
    """Bytes read and written per microsecond by a copy of `size` bytes."""
    pairs = [(torch.randint(0, 255, (size,), dtype=torch.uint8, device="cuda"), torch.empty(size, dtype=torch.uint8, device="cuda"))
             for _ in range(SETS)]
    return 2 * size / timed([lambda s=s, d=d: d.copy_(s) for s, d in pairs])


def measure(bundle, reference, shapes, dtype):
    _, kind, tolerance = TYPES[dtype]
    sets = [[torch.randn(s, device="cuda").to(kind) for s in shapes] for _ in range(SETS)]
    bound = [bundle.bind(*inputs) for inputs in sets]
    for run, (out,) in bound:
        out.fill_(float("nan"))
        run()
    out, inputs = bound[0][1][0], sets[0]
    part = max(1, inputs[0].shape[0] // 8)  # of the outermost dim: float64 copies are large
    want = reference(inputs[0][-part:].double(), *[t.double() for t in inputs[1:]])
    error = float((out[-part:].double() - want).norm() / want.norm())
    finite = all(bool(torch.isfinite(o).all()) for _, (o,) in bound)
    moved = sum(t.nbytes for t in inputs) + out.nbytes
    us = timed([run for run, _ in bound])
    return {"us": us, "bytes": moved, "share": moved / us / copy_bandwidth(moved // 2), "error": error,
            "right": finite and error < tolerance}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="cases; default: all")
    parser.add_argument("--build", type=Path, required=True, help="folder that holds bin/dlcbc and lib/libdlcb.so")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    results, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or CASES:
            build, reference, sizes = CASES[name]
            for dtype in TYPES:
                path = f"{folder}/{name}_{dtype}"
                build(path + ".onnx", dtype)
                subprocess.run([options.build / "bin/dlcbc", path + ".onnx", "-o", path + ".dlcb", "--no-cache", "--quiet"], check=True)
                bundle = dlcb.Model(path + ".dlcb", library=str(options.build / "lib/libdlcb.so"))
                for label, shapes in sizes.items():
                    shapes = shapes(2 if dtype == "f16" else 4)
                    r = {"case": name, "dtype": dtype, "size": label, "shapes": shapes, **measure(bundle, reference, shapes, dtype)}
                    results.append(r)
                    wrong += not r["right"]
                    print(f"{name:13} {dtype} {label:>10} {r['us']:8.1f} us {100 * r['share']:6.1f} % of copy  error {r['error']:.1e}"
                          f"{'' if r['right'] else '  WRONG'}", flush=True)
                    torch.cuda.empty_cache()
                bundle.close()
    if options.out:
        about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda, "date": str(date.today())}
        options.out.write_text(json.dumps({**about, "results": results}, indent=1) + "\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
