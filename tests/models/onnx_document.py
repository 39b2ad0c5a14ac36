"""Writes docs/onnx_suite.md from recorded outcomes of onnx_cases.py."""
import collections
import datetime
import json
import re

import onnx

from document import table

HEAD = f"""# ONNX's backend test suite

Written by `tests/models/onnx_cases.py --write-docs`; the cases are those of the onnx package ({onnx.__version__}) with opset 7 or later: one operator
each, or a small graph that PyTorch exported, with inputs and the outputs they must give. Each is compiled and run on the simulator.

- static: as the case is.
- dynamic: every dim of every input is a dim of its own. Dims that the model forces to one size stay literal, and so do the lengths of
  integer lists where they are ranks.
- constants: all inputs but the first are constants; only cases with more than one.
- threads: not run; `-j1` without a cache, `-j2` with a cold one and `-j2` with a warm one must give the same bytes.

Where a case passes axes, scales and the like as inputs, and the model needs their values, they are made constants.
`scripts/test` runs a sample; `--record` and `--slice` let the whole be run in pieces.
"""


def write(path, records):
    outcomes = [json.loads(line) for record in records for line in record.read_text().splitlines()]
    ways = list(dict.fromkeys(o["way"] for o in outcomes))
    rows = []
    for way in ways:
        mine = [o for o in outcomes if o["way"] == way]
        passed = [o for o in mine if o["kind"] == "pass"]
        count = collections.Counter(o["kind"] for o in mine)
        rows.append([way, len(mine), len(passed), sum(o["bound"] > 0 for o in passed), sum(o["literal"] > 0 for o in passed),
                     count["differs"], count["refused"], count["failed"]])
    text = HEAD + f"\nRun on {datetime.date.today()}.\n\n"
    text += table(["way", "cases", "pass", "of these with inputs made constants", "of these with literal dims", "other numbers, rightly", "refused", "wrong"], rows)
    refused = collections.Counter((o["reason"], o["way"]) for o in outcomes if o["reason"])
    reasons = sorted({reason for reason, _ in refused}, key=lambda r: -sum(refused[r, way] for way in ways))
    text += "\n## What is refused, and where numbers differ\n\n" + table(["why", *ways], [[r, *(refused[r, way] for way in ways)] for r in reasons])
    missing = collections.Counter(name for o in outcomes if o["way"] == ways[0] and o["kind"] == "refused"
                                  for name in re.findall(r"(\w+) \(\d+ nodes?\): unknown operator", o["text"]))
    text += "\nOperators of the suite that DLCB does not have (cases): "
    text += ", ".join(f"{name} ({n})" for name, n in sorted(missing.items())) + ".\n"
    path.write_text(text)
