#!/usr/bin/env python3
"""Makes the demo's input, a drawn line of text, and runs onnxruntime on it, in a process of its own.

usage: reference.py MODEL N,C,H,W FOLDER    writes FOLDER/x.npy and FOLDER/onnxruntime.npy
"""
import pathlib
import sys

import numpy
import onnxruntime

# 5 x 7 letters; a detector of text needs something that looks like text.
FONT = {
    "D": ("####.", "#...#", "#...#", "#...#", "#...#", "#...#", "####."),
    "L": ("#....", "#....", "#....", "#....", "#....", "#....", "#####"),
    "C": (".####", "#....", "#....", "#....", "#....", "#....", ".####"),
    "B": ("####.", "#...#", "#...#", "####.", "#...#", "#...#", "####."),
}


def draw(text, height, width, scale):
    """A grey-level picture in 0..1: black letters on white."""
    picture = numpy.ones((height, width), numpy.float32)
    rows = ["..".join(FONT[letter][row] for letter in text) for row in range(7)]
    letters = numpy.array([[mark == "#" for mark in row] for row in rows])
    letters = letters.repeat(scale, 0).repeat(scale, 1)[: height - 8, : width - 8]
    top, left = (height - letters.shape[0]) // 2, (width - letters.shape[1]) // 2
    picture[top : top + letters.shape[0], left : left + letters.shape[1]][letters] = 0
    return picture


def main(model, shape, folder):
    n, c, h, w = (int(dim) for dim in shape.split(","))
    picture = draw("DLCB", h, w, max(2, min(h, w) // 20))
    noise = numpy.random.default_rng(0).normal(0, 0.02, (n, c, h, w))
    x = ((picture - 0.5) / 0.5 + noise).astype(numpy.float32)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {session.get_inputs()[0].name: x})
    numpy.save(pathlib.Path(folder, "x.npy"), x)
    numpy.save(pathlib.Path(folder, "onnxruntime.npy"), result)


if __name__ == "__main__":
    main(*sys.argv[1:])
