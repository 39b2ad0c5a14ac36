#!/usr/bin/env python3
"""Runs the node cases of the onnx package through onnx_reference_run and compares with their expected outputs.

    onnx_node_check.py PATH/TO/onnx_reference_run [-k PATTERN] [-v] [--const] [--dynamic] [--limit SECONDS]

Prints counts: pass, refused (the importer says that it does not support the model), guarded (a run-time guard refuses these inputs), wrong (values, shapes, types, faults).
"""
import argparse, collections, concurrent.futures, glob, os, re, subprocess, tempfile

import numpy as np
import onnx
import onnx.backend.test
from onnx import numpy_helper


def load(path):
    t = onnx.TensorProto()
    with open(path, "rb") as f:
        t.ParseFromString(f.read())
    return numpy_helper.to_array(t)


def compare(got, want):
    if got.dtype != want.dtype:
        return f"type {got.dtype}, not {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if want.dtype == bool or np.issubdtype(want.dtype, np.integer):
        bad = int((got != want).sum())
        return f"{bad} of {want.size} differ" if bad else ""
    tolerance = 1e-2 if want.dtype.itemsize == 2 else 1e-3
    if np.allclose(got.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=1e-2 if want.dtype.itemsize == 2 else 1e-5, equal_nan=True):
        return ""
    with np.errstate(all="ignore"):
        return f"max difference {np.nanmax(np.abs(got.astype(np.float64) - want.astype(np.float64)))}"


def with_constants(path, inputs, out):
    """The model with every input but the first turned into an initializer."""
    model = onnx.load(path)
    names = [v.name for v in model.graph.input]
    for name, file in list(zip(names, inputs))[1:]:
        t = onnx.TensorProto()
        with open(file, "rb") as f:
            t.ParseFromString(f.read())
        t.name = name
        model.graph.initializer.append(t)
    del model.graph.input[1:]
    onnx.save(model, out)
    return inputs[:1]


def with_symbols(path, out):
    """The model with every dim of floating inputs, and of others of rank 2 or more, as a symbol of its own."""
    model = onnx.load(path)
    for v in model.graph.input:
        t = v.type.tensor_type
        if t.elem_type in (1, 10, 11, 16) or len(t.shape.dim) >= 2:
            for i, d in enumerate(t.shape.dim):
                d.dim_param = f"{v.name}_{i}"
    onnx.save(model, out)


def check(case, program, limit, const, dynamic):
    data = os.path.join(case, "test_data_set_0")
    inputs = sorted(glob.glob(data + "/input_*.pb"), key=lambda p: int(re.findall(r"\d+", p)[-1]))
    wants = sorted(glob.glob(data + "/output_*.pb"), key=lambda p: int(re.findall(r"\d+", p)[-1]))
    with tempfile.TemporaryDirectory() as out:
        model = case + "/model.onnx"
        plain = all(v.type.HasField("tensor_type") for v in onnx.load(model).graph.input)
        if const and inputs and plain:
            inputs = with_constants(model, inputs, out + "/m.onnx")
            model = out + "/m.onnx"
        if dynamic and plain:
            with_symbols(model, out + "/d.onnx")
            model = out + "/d.onnx"
        try:
            run = subprocess.run([program, "--out", out + "/o", model, *inputs], capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return "slow", ""
        if run.returncode:
            kind = "guarded" if run.returncode == 4 else "refused" if run.returncode == 3 and re.match(r"error\[DLCB(2003|2004|2009)\]", run.stderr) else "wrong"
            return kind, " ".join(run.stderr.split())[:400]
        for i, want in enumerate(wants):
            try:
                problem = compare(load(f"{out}/o.{i}.pb"), load(want))
            except Exception as e:  # the suite's own strings and sequences
                problem = f"{type(e).__name__} {e}"
            if problem:
                return "wrong", f"output {i}: {problem}"
    return "pass", ""


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("program")
    args.add_argument("-k", default="", help="only cases whose name matches")
    args.add_argument("-v", action="store_true", help="list refused cases too")
    args.add_argument("-j", type=int, default=2)
    args.add_argument("--const", action="store_true", help="every operand but the first is an initializer")
    args.add_argument("--dynamic", action="store_true", help="dims are symbols")
    args.add_argument("--limit", type=float, default=20)
    args = args.parse_args()
    root = os.path.join(os.path.dirname(onnx.backend.test.__file__), "data", "node")
    cases = sorted(p for p in glob.glob(root + "/*") if re.search(args.k, os.path.basename(p)) and os.path.exists(p + "/model.onnx"))
    count = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        for case, (kind, why) in zip(cases, pool.map(lambda c: check(c, args.program, args.limit, args.const, args.dynamic), cases)):
            count[kind] += 1
            if kind in ("wrong", "slow", "guarded") or (args.v and kind == "refused"):
                print(f"{kind} {os.path.basename(case)}: {why}", flush=True)
    print(f"{len(cases)} cases:", ", ".join(f"{k} {n}" for k, n in sorted(count.items())))


main()
