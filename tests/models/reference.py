#!/usr/bin/env python3
"""Runs onnxruntime on prepared inputs, in a process of its own: some models make it abort at some sizes.

usage: reference.py MODEL FOLDER... [--tf32 MODEL]

Each FOLDER holds feeds.npz (arrays by input name); reference.npz is written beside it: "off:NAME" for each output with
optimisations off, "on:NAME" with them on (left out where they make it fail), "tf32:NAME" of the other model (tf32.py made it).
A folder where onnxruntime does not take the input gets an empty reference.npz.
"""
import argparse
import pathlib
import sys

import numpy
import onnxruntime


def session(model, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--tf32")
    options = parser.parse_args()
    levels = onnxruntime.GraphOptimizationLevel
    sessions = {"off": session(options.model, levels.ORT_DISABLE_ALL), "on": session(options.model, levels.ORT_ENABLE_ALL)}
    if options.tf32:
        sessions["tf32"] = session(options.tf32, levels.ORT_DISABLE_ALL)
    names = [output.name for output in sessions["off"].get_outputs()]
    for folder in options.folders:
        with numpy.load(folder / "feeds.npz") as file:
            feeds = {name: file[name] for name in file.files}
        results = {}
        for mode, runner in sessions.items():
            try:
                values = runner.run(None, feeds)
            except Exception as error:  # onnxruntime's own classes share no base
                print(f"{folder.name} {mode}: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            results |= {f"{mode}:{name}": value for name, value in zip(names, values)}
        numpy.savez(folder / "part.npz", **results)
        (folder / "part.npz").rename(folder / "reference.npz")


if __name__ == "__main__":
    main()
