#!/usr/bin/env python3
"""Where a bundle's time goes, kernel by kernel, beside torch eager: kernel_times.py BUNDLE NAME BATCH [--build DIR] [--top N]

NAME is a model of export_models.py. Kernels of the bundle are named as in `dlcb-inspect --kernels`.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle")
    parser.add_argument("name")
    parser.add_argument("batch", type=int)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--top", type=int, default=14)
    args = parser.parse_args()
    given = inputs_for(args.name, args.batch)
    loaded = dlcb.Model(args.bundle, f"{args.build}/lib/libdlcb.so", use_graphs=0)
    run, _ = loaded.bind(*given)
    show("bundle", kernels(run), args.top)
    model = export_models.build(args.name)[0].cuda()
    with torch.inference_mode():
        show("eager", kernels(lambda: model(*given)), args.top)


if __name__ == "__main__":
    main()
