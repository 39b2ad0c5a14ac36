#!/usr/bin/env python3
"""Real models end to end: compiled once, run at many shapes, compared with onnxruntime.

usage: check_models.py --models FOLDER --bin FOLDER [--device sim|cuda] [--results FILE.json] [--seed N] [--jobs N]
                       [--write-docs FILE] [--keep FOLDER] [NAME ...]

For each model: the outputs agree with onnxruntime's at six shapes or more; inputs that the model cannot take are refused by
dlcb-run and through the C interface, in the model's own terms. On the simulator also: two builds in two folders at -j1 and -j2
with cold caches give the same bytes, within bounds of size and memory; no kernel has a stack or calls. On a GPU everything runs
with TF32 off and on.
Models that are not there are named and left out. Exit code 77: nothing could be checked.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnxruntime  # reference.py runs it, with this interpreter
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import build_check
import document
import guard_check
import numbers_check
from models import MODELS


def check_runs(model, context):
    """Everything that runs the bundle; quiet, so that two models can be checked at a time."""
    report = {"numbers": numbers_check.check(model, context), "refusals": guard_check.refusals(model, context)}
    if model.name == "rapidocr_det" and context.device == "sim":
        report["sides"] = guard_check.detector_sides(context)
    return report


class Context:
    """Where things are for one model."""

    def __init__(self, options, model, root):
        self.bin = options.bin
        self.device = options.device
        self.seed = options.seed
        self.model = options.models / f"{model.name}.onnx"
        self.folder = root / model.name
        self.bundle = self.folder / "j2" / f"{model.name}.dlcb"
        self.sim_cache = options.models / "sim_cache"
        self.failures = []
        self.folder.mkdir(parents=True, exist_ok=True)

    def expect(self, condition, text):
        if not condition:
            self.failures.append(text)
        return condition


def check_all(options, present, root):
    """Model -> report. Builds one after the other, as they are timed; then the runs."""
    contexts = {model.name: Context(options, model, root) for model in present}
    reports = {}
    for model in present:
        build = build_check.check if options.device == "sim" else build_check.once
        reports[model.name] = {"build": build(model, contexts[model.name])}
        print(f"{model.name}: {build_check.describe(reports[model.name]['build'])}", flush=True)
    # The longest first.
    built = [model for model in present if contexts[model.name].bundle.exists()]
    queue = sorted(built, key=lambda model: -contexts[model.name].bundle.stat().st_size)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(check_runs, model, contexts[model.name]): model for model in queue}
        for future in concurrent.futures.as_completed(running):
            model = running[future]
            reports[model.name] |= future.result()
            print(f"{model.name}:", *numbers_check.describe(reports[model.name]["numbers"]), sep="\n  ", flush=True)
    return reports, [f"{name}: {text}" for name, context in contexts.items() for text in context.failures]


def write_results(path, options, reports):
    """What was measured on a GPU, for bench/results/ (document.py makes a table of it)."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = subprocess.run(query, capture_output=True, text=True).stdout.splitlines()[0].split(", ")
    rows = {model: report["numbers"] for model, report in reports.items()}
    record = {"device": name, "driver": driver, "onnxruntime": onnxruntime.__version__, "date": str(datetime.date.today()),
              "seed": options.seed, "note": options.note, "models": rows}
    path.write_text(json.dumps(record, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True, help="folder that scripts/make-models filled")
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs, examples among them")
    parser.add_argument("--device", choices=("sim", "cuda"), default="sim")
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE", help="with --device cuda: write the numbers as JSON")
    parser.add_argument("--note", default="", help="for the results: what else there is to know of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write-docs", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="leave bundles and tensors there")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    wanted = [model for model in MODELS if not options.names or model.name in options.names]
    present = [model for model in wanted if (options.models / f"{model.name}.onnx").exists()]
    for model in wanted:
        if model not in present:
            print(f"{model.name}: left out, {options.models / model.name}.onnx is not there (scripts/make-models)")
    if not present:
        return 77
    with tempfile.TemporaryDirectory(prefix="dlcb-models-") as temporary:
        reports, failures = check_all(options, present, options.keep or pathlib.Path(temporary))
    for failure in failures:
        print(f"FAILED {failure}")
    if options.results:
        write_results(options.results, options, reports)
    if options.write_docs and not failures:
        document.write(options.write_docs, reports)
    print(f"{len(present)} models, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
