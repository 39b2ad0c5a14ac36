#!/usr/bin/env python3
"""Where a bundle's time goes, kernel by kernel.

usage: kernel_times.py BUNDLE --model NAME [--batch N]    beside torch eager; NAME is a model of export_models.py
       kernel_times.py BUNDLE [OTHER] --shape 1,3,640,640    one float input; with OTHER: which kernels differ

Kernels of a bundle are named as in `dlcb-inspect --kernels`.
"""
import argparse
import sys
from collections import defaultdict
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, str(Path(__file__).parent))
import dlcb
import export_models
from speed import inputs_for


def kernels(fn, runs=5):
    """name -> (microseconds, launches) of one run."""
    for _ in range(3):
        fn()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        for _ in range(runs):
            fn()
        torch.cuda.synchronize()
    total = defaultdict(lambda: [0.0, 0])
    for event in recorded.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            total[event.name][0] += event.device_time / runs
            total[event.name][1] += 1 / runs
    return total


def show(title, table, top):
    print(f"{title}: {sum(t for t, _ in table.values()):.0f} us in {sum(n for _, n in table.values()):.0f} kernels")
    for name, (us, count) in sorted(table.items(), key=lambda row: -row[1][0])[:top]:
        print(f"  {us:9.1f} us {count:5.0f} x  {name[:110]}")


def differences(one, other, top):
    """Kernels of two bundles of the same model, those first whose times differ most."""
    print(f"difference: {sum(t for t, _ in other.values()) - sum(t for t, _ in one.values()):+.1f} us")
    change = {name: other.get(name, (0, 0))[0] - one.get(name, (0, 0))[0] for name in {*one, *other}}
    for name, us in sorted(change.items(), key=lambda row: -abs(row[1]))[:top]:
        print(f"  {us:+9.2f} us of {one.get(name, (0, 0))[0]:9.2f}, {one.get(name, (0, 0))[1]:4.0f} x  {name[:110]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", nargs="+", metavar="BUNDLE")
    parser.add_argument("--model", metavar="NAME")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--shape", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--top", type=int, default=14)
    args = parser.parse_args()
    if (args.model is None) == (args.shape is None):
        parser.error("one of --model and --shape is needed")
    given = inputs_for(args.model, args.batch) if args.model else (torch.randn(args.shape, device="cuda"),)
    tables = []
    for bundle in args.bundles:
        loaded = dlcb.Model(bundle, f"{args.build}/lib/libdlcb.so", use_graphs=0)
        run, _ = loaded.bind(*given)
        tables.append(kernels(run))
        show(bundle, tables[-1], args.top)
    if len(tables) == 2:
        differences(*tables, args.top)
    if args.model:
        model = export_models.build(args.model)[0].cuda()
        with torch.inference_mode():
            show("eager", kernels(lambda: model(*given)), args.top)


if __name__ == "__main__":
    main()
