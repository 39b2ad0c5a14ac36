#!/usr/bin/env python3
"""The cases of the onnx package's backend test suite, compiled by dlcbc and run on the simulator.

usage: onnx_cases.py --bin FOLDER [--way static|dynamic|constants|threads ...] [--sample N] [--seed S] [-k PATTERN] [-v]
                     [--slice I/N] [--work FOLDER] [--record FILE] [--write-docs FILE RECORD ...]

A case is one operator (or a small exported graph) with inputs and the outputs they must give. Four ways:
static: as the case is; dynamic: every dim of every input is a dim of its own, except those whose size the model needs;
constants: all inputs but the first are constants, which are folded, laid out anew and read when compiling;
threads: nothing is run, but -j1 without a cache, -j2 with a cold one and -j2 with a warm one must give the same
bytes. Inputs whose values the model needs (axes, scales) become constants where they were refused: all but the first, or,
unless dims are to be dynamic, all. Every refusal must have its reason in onnx_refusals.py; all else that is not a pass is a failure.
Exit code 77: nothing could be checked.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import onnx
    import onnx.backend.test
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from onnx_refusals import difference_of, reason_of
import onnx_document

WAYS = ("static", "dynamic", "constants", "threads")
FOLDERS = ("node", "pytorch-operator", "pytorch-converted", "simple")
OLDEST_OPSET = 7
INTEGERS = (onnx.TensorProto.INT32, onnx.TensorProto.INT64)
HALVES = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
TYPES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64", 12: "u32",
         13: "u64", 16: "bf16"}
NEEDS_CONSTANTS = re.compile(r"(is|are) not (a )?constants?|that are not constant")


@dataclasses.dataclass
class Outcome:
    """kind: pass, refused, differs or failed."""
    case: str
    way: str
    kind: str
    text: str = ""  # what the programs said
    reason: str = ""  # why a refusal or a difference is right
    literal: int = 0  # dims that were left as they are, because the model needs their size
    bound: int = 0  # inputs that were made constants, because the model needs their values


def all_cases(pattern):
    root = pathlib.Path(onnx.backend.test.__file__).parent / "data"
    found = [p.parent for folder in FOLDERS for p in sorted((root / folder).glob("*/model.onnx"))]
    return [p for p in found if re.search(pattern, p.name)]


def in_scope(model):
    return all(i.version >= OLDEST_OPSET for i in model.opset_import if i.domain in ("", "ai.onnx"))


def dim_names(case):
    """(input, names that its dims get) of every tensor input."""
    tensors = [i for i in case.inputs() if i.type.HasField("tensor_type")]
    return [(i, [f"dyn{n}_{a}" for a in range(len(i.type.tensor_type.shape.dim))]) for n, i in enumerate(tensors)]


def declared(case, literal):
    flags = []
    for i, names in dim_names(case):
        element = i.type.tensor_type.elem_type
        dtype = f":{TYPES[element]}" if element in TYPES else ""
        flags += ["--input", f"{i.name}{dtype}[{','.join(str(literal.get(name, name)) for name in names)}]"]
    return flags


def lengths_of_lists(case, known):
    """Name -> length of the 1-D integer inputs."""
    found = {}
    for i, names in dim_names(case):
        tensor = i.type.tensor_type
        if len(names) == 1 and names[0] not in known and tensor.elem_type in INTEGERS:
            found[names[0]] = tensor.shape.dim[0].dim_value
    return found


def error_of(done):
    """The first diagnostic of a program that was run with --diagnostics=json."""
    for line in done.stderr.splitlines():
        if line.startswith("{") and (found := json.loads(line))["severity"] == "error":
            return found
    return None


class Case:
    """A model and the folders of its tensors, perhaps with some inputs turned into constants."""

    def __init__(self, path, data, bound=0):
        self.path, self.data, self.bound, self.name = path, data, bound, path.parent.name
        self.model = onnx.load(path, load_external_data=False)

    def inputs(self):
        """Those that a caller gives."""
        constants = {c.name for c in self.model.graph.initializer}
        return [i for i in self.model.graph.input if i.name not in constants]

    def with_constants(self, kept, folder):
        """All inputs but the first `kept` are initializers with the values of the first data set; None if they cannot be."""
        inputs, data = self.inputs(), self.data[0]
        if len(inputs) <= kept or any(not i.type.HasField("tensor_type") for i in inputs):
            return None
        model = onnx.ModelProto.FromString(self.model.SerializeToString())
        folder.mkdir()
        for n, i in enumerate(inputs):
            tensor = onnx.load_tensor(data / f"input_{n}.pb")
            tensor.name = i.name
            if n < kept:
                onnx.save_tensor(tensor, folder / f"input_{n}.pb")
            else:
                model.graph.initializer.append(tensor)
                model.graph.input.remove(next(v for v in model.graph.input if v.name == i.name))
        for output in data.glob("output_*.pb"):
            shutil.copy(output, folder)
        onnx.save(model, folder / "model.onnx")
        return Case(folder / "model.onnx", [folder], len(inputs) - kept)


class Runner:
    def __init__(self, bin_dir, folder, limit):
        self.bin, self.folder, self.limit = bin_dir, folder, limit

    def call(self, program, *flags):
        command = [self.bin / program, *flags, "--diagnostics=json"]
        return subprocess.run(command, capture_output=True, text=True, timeout=self.limit)

    def compile(self, case, bundle, *flags):
        return self.call("dlcbc", case.path, "-o", bundle, "-q", *flags)

    def check(self, path, way):
        """None for a case that is too old, or that has nothing to make a constant of."""
        case = Case(path / "model.onnx", sorted(path.glob("test_data_set_*")))
        if not in_scope(case.model):
            return None
        with tempfile.TemporaryDirectory(dir=self.folder) as work:
            work = pathlib.Path(work)
            name = case.name
            if way == "constants" and not (case := case.with_constants(1, work / "constants")):
                return None
            try:
                outcome = self.attempt(case, way, work)
                for kept in (1,) if way == "dynamic" else (1, 0):
                    if outcome.kind == "refused" and NEEDS_CONSTANTS.search(outcome.text):
                        bound = case.with_constants(kept, work / f"bound{kept}")
                        outcome = self.attempt(bound, way, work) if bound else outcome
            except subprocess.TimeoutExpired:
                outcome = Outcome("", way, "failed", f"more than {self.limit} s")
        outcome.case = name
        return outcome

    def attempt(self, case, way, work):
        outcome = getattr(self, way)(case, work)
        outcome.bound = case.bound
        return outcome

    @staticmethod
    def ended(way, done):
        """The outcome where a program did not end well."""
        error = error_of(done)
        if done.returncode in (3, 4) and error:
            notes = "".join(f"; {note['text']}" for note in error["notes"])
            return Outcome("", way, "refused", f"{error['code']} {error['message']}{notes}")
        kind = "differs" if error and error["kind"] == "WrongResult" else "failed"
        return Outcome("", way, kind, f"exit {done.returncode}: " + " ".join(done.stderr.split())[:300])

    def static(self, case, work):
        done = self.compile(case, work / "m.dlcb", "--cache-dir", self.folder / "cache")
        return self.ended("static", done) if done.returncode else self.run(case, "static", work)

    def constants(self, case, work):
        return dataclasses.replace(self.static(case, work), way="constants")

    def dynamic(self, case, work):
        """Asks for every dim. Those that are refused as forced are left as they are; so are, in a second try, the lengths
        of integer lists, which are often ranks."""
        literal = {}
        while True:
            done = self.compile(case, work / "m.dlcb", "--cache-dir", self.folder / "cache", *declared(case, literal))
            error = error_of(done)
            if error and error["kind"] == "DimForced" and error["args"][0] not in literal:
                literal[error["args"][0]] = error["args"][1]
            elif error and error["kind"] == "UnknownShape" and (more := lengths_of_lists(case, literal)):
                literal |= more
            else:
                break
        outcome = self.ended("dynamic", done) if done.returncode else self.run(case, "dynamic", work)
        outcome.literal = len(literal)
        return outcome

    def run(self, case, way, work):
        half = any(o.type.tensor_type.elem_type in HALVES for o in case.model.graph.output)
        tolerance = ["--rtol", "1e-2", "--atol", "1e-2"] if half else ["--rtol", "1e-3", "--atol", "1e-5"]
        for data in case.data:
            done = self.call("dlcb-run", work / "m.dlcb", "--device", "sim", "-q", "--test-data", data, *tolerance,
                             "--sim-cache-dir", self.folder / "sim")
            if done.returncode:
                return self.ended(way, done)
        return Outcome("", way, "pass")

    def threads(self, case, work):
        shutil.rmtree(work / "cache", ignore_errors=True)
        flags = [("-j1", "--no-cache"), ("-j2", "--cache-dir", work / "cache"), ("-j2", "--cache-dir", work / "cache")]
        bundles = []
        for n, f in enumerate(flags):
            done = self.compile(case, work / f"{n}.dlcb", *f)
            if done.returncode:
                return self.ended("threads", done)
            bundles.append((work / f"{n}.dlcb").read_bytes())
        same = bundles.count(bundles[0]) == len(bundles)
        return Outcome("", "threads", "pass" if same else "failed", "" if same else "the bundles differ")


def run_all(options, folder, jobs):
    count, outcomes = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runner = Runner(options.bin.resolve(), folder, options.limit)
        for outcome in pool.map(lambda job: runner.check(*job), jobs):
            if outcome is None:
                continue
            if outcome.kind == "refused":
                outcome.reason = reason_of(outcome.text) or ""
                outcome.kind = "refused" if outcome.reason else "failed"
            if outcome.kind == "differs":
                outcome.reason = difference_of(outcome.case) or ""
                outcome.kind = "differs" if outcome.reason else "failed"
            outcomes.append(outcome)
            if options.record:
                with open(options.record, "a") as f:
                    f.write(json.dumps(dataclasses.asdict(outcome)) + "\n")
            count[outcome.way, outcome.kind] += 1
            if outcome.kind == "failed" or (options.verbose and outcome.kind == "refused"):
                print(f"{outcome.kind.upper()} {outcome.case} ({outcome.way}): {outcome.text}", flush=True)
    for way in options.way:
        print(f"{way}: " + ", ".join(f"{count[way, kind]} {kind}" for kind in ("pass", "differs", "refused", "failed")))
    return outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, help="folder of dlcbc and dlcb-run")
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--sample", type=int, help="this many pairs of case and way only, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-k", dest="pattern", default="", help="only cases whose name matches")
    parser.add_argument("--slice", default="0/1", metavar="I/N", help="every Nth pair, from the Ith on")
    parser.add_argument("-v", dest="verbose", action="store_true", help="name the refused ones too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=120, help="seconds for one program")
    parser.add_argument("--work", type=pathlib.Path, metavar="FOLDER", help="keep the caches there")
    parser.add_argument("--record", type=pathlib.Path, metavar="FILE", help="append outcomes there, one JSON object a line")
    parser.add_argument("--write-docs", type=pathlib.Path, nargs="+", metavar="FILE", help="write FILE from the records named after it")
    options = parser.parse_args()
    if options.write_docs:
        onnx_document.write(options.write_docs[0], options.write_docs[1:])
        return 0
    options.way = options.way or list(WAYS)
    jobs = [(case, way) for case in all_cases(options.pattern) for way in options.way]
    if options.sample and options.sample < len(jobs):
        jobs = random.Random(options.seed).sample(jobs, options.sample)
    first, step = map(int, options.slice.split("/"))
    with tempfile.TemporaryDirectory(prefix="dlcb-onnx-") as temporary:
        folder = options.work or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        outcomes = run_all(options, folder, jobs[first::step])
    return 1 if any(o.kind == "failed" for o in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
