#!/usr/bin/env python3
"""Prints an output of dlcb-run beside onnxruntime's and fails if they differ.

usage: side_by_side.py FOLDER    reads FOLDER/onnxruntime.npy and the one file in FOLDER/dlcb
"""
import pathlib
import sys

import numpy

LIMIT = 1e-3  # relative L2 norm
SHOWN = 6


def main(folder):
    folder = pathlib.Path(folder)
    (file,) = (folder / "dlcb").glob("*.npy")
    ours, theirs = numpy.load(file), numpy.load(folder / "onnxruntime.npy")
    print(f"   input {numpy.load(folder / 'x.npy').shape} -> output {ours.shape}")
    if ours.shape != theirs.shape:
        sys.exit(f"   DIFFERENT: onnxruntime's output is {theirs.shape}")
    norm = numpy.linalg.norm(ours - theirs) / max(numpy.linalg.norm(theirs), 1e-30)
    print(f"   {'at':>20} {'dlcb':>12} {'onnxruntime':>12}")
    # Across the whole range of values: background, letters and what lies between.
    for value in numpy.linspace(theirs.min(), theirs.max(), SHOWN):
        place = numpy.argmin(numpy.abs(theirs - value))
        at = tuple(int(i) for i in numpy.unravel_index(place, theirs.shape))
        print(f"   {str(at):>20} {ours[at]:>12.6f} {theirs[at]:>12.6f}")
    print(f"   relative norm of the difference: {norm:.2e}")
    if not norm <= LIMIT:
        sys.exit(f"   DIFFERENT: more than {LIMIT}")


if __name__ == "__main__":
    main(sys.argv[1])
