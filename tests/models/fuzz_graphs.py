#!/usr/bin/env python3
"""Random small ONNX graphs with dynamic dims, compiled by dlcbc, run at several shapes and compared with onnxruntime.

usage: fuzz_graphs.py --bin DIR [--seed 0] [--count 20] [--parts 5] [--work DIR] [--minimise]

One model holds several independent parts, because compiling kernels costs more per model than per kernel. A model is
determined by its seed and its parts, so `--seed 7 --count 1 --only 2` makes part 2 of model 7 alone. A failure names the
seed, the part and the first output that differs; --minimise then looks for the earliest tensor of that part that fails.
Exit code 77: a package is missing.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime  # noqa: F401  used by reference.py, with this interpreter
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from fuzz.model import make_feeds, make_parts, model_of
from fuzz.part import CALLS

REFERENCE = pathlib.Path(__file__).with_name("reference.py")


def first_line(text):
    lines = [l for l in text.strip().splitlines() if l.strip()]
    return next((l for l in lines if "error" in l or "fault" in l), lines[-1] if lines else "")[:220]


def difference(got, want, half):
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)} for {want.dtype}{list(want.shape)}"
    if want.size == 0:
        return ""
    if want.dtype.kind != "f":
        bad = int((got != want).sum())
        return f"{bad} of {want.size} differ" if bad else ""
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite = np.abs(b[np.isfinite(b)])
    scale = max(1.0, float(finite.max()) if finite.size else 1.0)
    good = np.isclose(a, b, rtol=2e-2 if half else 1e-3, atol=(1e-2 if half else 5e-5) * scale, equal_nan=True)
    if good.all():
        return ""
    worst = np.nanmax(np.where(good, 0, np.abs(a - b)))
    return f"{int((~good).sum())} of {want.size} off, worst {worst:.3g}, scale {scale:.3g}"


class Runner:
    def __init__(self, args, folder):
        self.args, self.folder = args, pathlib.Path(folder)

    def check(self, parts, seed, only_outputs=None):
        """A list of (what, text); empty when everything agrees."""
        folder = self.folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        model = model_of(parts, only_outputs)
        onnx.save(model, folder / "m.onnx")
        names = {i.name for i in model.graph.input}
        calls = []
        for call in range(CALLS):
            feeds = {n: a for n, a in make_feeds(parts, call, seed).items() if n in names}
            (folder / str(call)).mkdir()
            np.savez(folder / str(call) / "feeds.npz", **feeds)
            calls.append(feeds)
        reference = self.reference(folder)
        if reference:
            return [("reference", reference)]
        tool, flags = pathlib.Path(self.args.bin), ["--stand-ins"] if self.args.no_libraries else []
        flags += ["--split-from", "2"] if seed % 2 else []  # reductions here are short: of every other model all are in parts
        done = subprocess.run([tool / "dlcbc", folder / "m.onnx", "-o", folder / "m.dlcb", "--verify-each", *flags], capture_output=True, text=True, timeout=600)
        if done.returncode:
            return [("compile", f"exit {done.returncode}: {first_line(done.stderr)}")]
        faults = []
        for call, feeds in enumerate(calls):
            faults += self.run(tool, folder, call, feeds)
        return faults

    def reference(self, folder):
        for call in range(CALLS):
            done = subprocess.run([sys.executable, REFERENCE, folder / "m.onnx", folder / str(call)], capture_output=True, text=True, timeout=300)
            if done.returncode and not (folder / str(call) / "reference.npz").exists():
                text = first_line(done.stderr)
                if "Fail" in text or "INVALID" in text or "NOT_IMPLEMENTED" in text or "NotImplemented" in text:
                    return text
        return ""

    def run(self, tool, folder, call, feeds):
        path = folder / str(call) / "reference.npz"
        want = dict(np.load(path)) if path.exists() else {}
        want = {n[4:]: a for n, a in want.items() if n.startswith("off:")}
        if not want:
            return []
        cmd = [tool / "dlcb-run", folder / "m.dlcb", "--device", self.args.device, "--tf32", "off", "--output", folder / str(call) / "out"]
        cmd += ["--no-libraries"] if self.args.no_libraries else []
        for n, a in feeds.items():
            np.save(folder / str(call) / f"{n}.npy", a)
            cmd += ["--input", f"{n}=@{folder / str(call) / n}.npy"]
        done = subprocess.run(cmd, capture_output=True, text=True, timeout=600)
        if done.returncode:
            return [(f"run {call}", f"exit {done.returncode}: {first_line(done.stderr)}")]
        faults = []
        for n, w in want.items():
            got = np.load(folder / str(call) / "out" / f"{n}.npy")
            text = difference(got, w, w.dtype == np.float16)
            if text:
                faults.append((n, f"call {call}: {text}"))
        return faults

    def minimise(self, seed, part_index, count, steps):
        """The first tensor of the part, in graph order, that fails as the only output."""
        def fresh():
            return make_parts(seed, count, steps, {part_index})
        made = [o for n in fresh()[0].nodes for o in n.output]
        for name in made:
            parts = fresh()
            value = next((v for v in parts[0].values if v.name == name), None)
            if value is None:
                continue
            parts[0].outputs = [value]
            faults = self.check(parts, seed, {name})
            if faults and faults[0][0] != "reference":
                return name, faults
        return None, []


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True, help="folder of dlcbc and dlcb-run")
    ap.add_argument("--device", choices=("sim", "cuda"), default="sim")
    ap.add_argument("--no-libraries", action="store_true", help="generated kernels only")
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--count", type=int, default=20)
    ap.add_argument("--parts", type=int, default=5)
    ap.add_argument("--steps", type=int, default=9, help="operators per part at most")
    ap.add_argument("--only", type=int, action="append", help="part to keep; may be repeated")
    ap.add_argument("--work", default=None)
    ap.add_argument("--minimise", action="store_true")
    args = ap.parse_args()
    work = args.work or tempfile.mkdtemp(prefix="fuzz_graphs.")
    bad = 0
    for seed in range(args.seed, args.seed + args.count):
        runner = Runner(args, work)
        only = set(args.only) if args.only else None
        faults = runner.check(make_parts(seed, args.parts, args.steps, only), seed)
        # What stops the whole model hides the other parts: look at each alone.
        if faults and (faults[0][0] in ("compile", "reference") or faults[0][0].startswith("run")) and only is None:
            faults = []
            for i in range(args.parts):
                faults += [(f"part {i} {w}", t) for w, t in runner.check(make_parts(seed, args.parts, args.steps, {i}), seed)]
            faults = [f for f in faults if "reference" not in f[0]]
        for what, text in faults:
            print(f"seed {seed} {what}: {text}", flush=True)
        bad += bool(faults)
        if faults and args.minimise:
            indices = sorted(only or {int(w.split()[1]) if w.startswith("part") else int(w[1:].split("_")[0]) for w, _ in faults})
            for i in indices:
                name, small = runner.minimise(seed, i, args.parts, args.steps)
                if name:
                    keep = pathlib.Path(f"{work}.seed{seed}_part{i}.onnx")
                    shutil.copy(pathlib.Path(work) / "m.onnx", keep)
                    print(f"  part {i}: {name}: {small[0][1]}  ({keep})", flush=True)
    print(f"{args.count} models, {bad} with differences")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
