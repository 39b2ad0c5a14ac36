#!/usr/bin/env python3
"""Bundles against torch eager on the same GPU in the same run: speed.py --models DIR --build DIR [--out FILE.json] [NAME ...]

For each model (bench/export_models.py made DIR/NAME.onnx) compiles once, then times eager in both memory layouts and the bundle
at several batches, fp32 with TF32 convolutions (torch's default) and without TF32 in matmuls. Checks the numbers first, with TF32 off.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
import dlcb
import export_models


def timed(fn, seconds=0.6):
    """Median microseconds of one call, host work included: windows of back-to-back calls between two events."""
    for _ in range(5):
        fn()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    fn()
    torch.cuda.synchronize()
    calls = max(5, min(200, int(0.1 / max(1e-6, time.perf_counter() - begin))))
    samples, end = [], time.perf_counter() + seconds
    while len(samples) < 3 or time.perf_counter() < end:
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for _ in range(calls):
            fn()
        b.record()
        b.synchronize()
        samples.append(a.elapsed_time(b) * 1000 / calls)
    return statistics.median(samples)


def inputs_for(name, batch):
    if name == "minilm":
        ids = torch.randint(0, 30522, (batch, 128), device="cuda")
        return (ids, torch.ones_like(ids))
    return (torch.randn(batch, 3, 224, 224, device="cuda"),)


def relative(a, b):
    return float((a.double() - b.double()).norm() / b.double().norm())


def literal_flags(name, batch):
    """--input flags that fix every dim to what inputs_for() makes."""
    if name == "minilm":
        return ["--input", f"input_ids[{batch},128]", "--input", f"attention_mask[{batch},128]"]
    return ["--input", f"x[{batch},3,224,224]"]


def check(name, model, bundle, library):
    """Largest relative error over shapes that no one tuned for, TF32 off."""
    torch.backends.cudnn.allow_tf32 = False
    loaded = dlcb.Model(bundle, library, allow_tf32_conv=0)
    worst = 0.0
    for batch in (1, 2, 3, 7):
        given = inputs_for(name, batch)
        if name in ("resnet50", "mobilenet_v3_large"):
            given = (torch.randn(batch, 3, 97 + 32 * batch, 131, device="cuda"),)
        elif name == "minilm":
            given = tuple(t[:, : 17 * batch].contiguous() for t in given)
        wanted = model(*given)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        worst = max([worst] + [relative(g, w) for g, w in zip(loaded(*given), wanted)])
    loaded.close()
    torch.backends.cudnn.allow_tf32 = True
    return worst


def measure(name, args):
    source, bundle = f"{args.models}/{name}.onnx", f"{args.models}/{name}.dlcb"
    begin = time.perf_counter()
    subprocess.run([f"{args.build}/bin/dlcbc", source, "-o", bundle, "--no-cache", "--quiet"], check=True)
    row = {"model": name, "compile_s": round(time.perf_counter() - begin, 3), "bundle_bytes": Path(bundle).stat().st_size}
    library = f"{args.build}/lib/libdlcb.so"
    model = export_models.build(name)[0].cuda()
    with torch.inference_mode():
        row["error"] = check(name, model, bundle, library)
        begin = time.perf_counter()
        loaded = dlcb.Model(bundle, library)
        row["load_ms"] = round(1000 * (time.perf_counter() - begin), 1)
        for batch in args.batches:
            given = inputs_for(name, batch)
            eager = {"contiguous": timed(lambda: model(*given))}
            if name != "minilm" and name != "vit_b_16":
                last = model.to(memory_format=torch.channels_last)
                x = given[0].contiguous(memory_format=torch.channels_last)
                eager["channels_last"] = timed(lambda: last(x))
                model.to(memory_format=torch.contiguous_format)
            begin = time.perf_counter()
            loaded(*given)
            torch.cuda.synchronize()
            first = 1000 * (time.perf_counter() - begin)
            run, _ = loaded.bind(*given)
            ours = timed(run)
            static = f"{args.models}/{name}.{batch}.dlcb"
            subprocess.run([f"{args.build}/bin/dlcbc", source, "-o", static, "--quiet", *literal_flags(name, batch)], check=True)
            fixed = dlcb.Model(static, library)
            run_fixed, _ = fixed.bind(*given)
            literal = timed(run_fixed)
            ours = min(ours, timed(run))
            fixed.close()
            Path(static).unlink()
            row[f"b{batch}"] = {"literal_us": round(literal, 1), "eager_us": {k: round(v, 1) for k, v in eager.items()}, "dlcb_us": round(ours, 1),
                                "first_call_ms": round(first, 2), "speedup": round(min(eager.values()) / ours, 3)}
        loaded.close()
    print(json.dumps(row), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--out")
    parser.add_argument("--batches", type=lambda s: [int(x) for x in s.split(",")], default=[1, 8, 32])
    parser.add_argument("names", nargs="*", default=list(export_models.NAMES))
    args = parser.parse_args()
    rows = [measure(name, args) for name in args.names]
    if args.out:
        record = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
                  "cuda": torch.version.cuda, "date": str(date.today()), "rows": rows}
        Path(args.out).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
