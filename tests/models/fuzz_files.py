#!/usr/bin/env python3
"""Damaged and nonsensical files: every program must refuse them in words, or take them; never crash, hang or blame itself.

usage: fuzz_files.py --bin FOLDER [--seed 0] [--count 200] [--model FILE.onnx ...] [--keep FOLDER]

Models are random graphs (fuzz/) and those given, changed as bytes (cut, flipped, moved) or as messages (another operator,
attribute, dim, type, name). Bundles are changed inside their program, with checksums that fit. Everything follows from the seed.
Exit code 77: the onnx package is missing.
"""
import argparse
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

try:
    import onnx
    from onnx import TensorProto
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from fuzz.model import make_parts, model_of

ALLOWED = {0, 2, 3, 4, 6}  # docs/errors.md: all but a wrong result and a fault of ours
LIMIT_S = 120
NUMBERS = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 7, 64, 2**31, 2**40, 2**63 - 1]


def change_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at, size = rng.randrange(len(data) or 1), rng.choice([1, 2, 8, 100])
        kind = rng.choice(["flip", "set", "cut", "delete", "repeat"])
        if kind == "flip" and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == "set" and data:
            data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif kind == "cut" and rng.random() < 0.3:
            del data[at:]
        elif kind == "delete":
            del data[at : at + size]
        elif kind == "repeat":
            data[at:at] = data[at : at + size]
    return bytes(data)


class Message:
    """Changes one thing in a model that still is a well-formed message."""

    def __init__(self, model, rng):
        self.model, self.graph, self.rng = model, model.graph, rng
        self.names = [o for n in self.graph.node for o in n.output] + [v.name for v in self.graph.input] + [""]

    def change(self):
        for _ in range(self.rng.choice([1, 1, 2, 4])):
            kinds = [self.operator, self.attribute, self.attribute, self.wiring, self.order, self.constant, self.interface, self.opset]
            self.rng.choice(kinds)()

    def node(self):
        return self.rng.choice(self.graph.node) if self.graph.node else None

    def number(self):
        return self.rng.choice(NUMBERS)

    def operator(self):
        node = self.node()
        if node:
            node.op_type = self.rng.choice([n.op_type for n in self.graph.node] + ["Conv", "Resize", "Loop", "GRU", "Einsum", "Pad", "Nothing"])

    def attribute(self):
        node = self.node()
        if not node or not node.attribute:
            return
        a = self.rng.choice(node.attribute)
        kind = self.rng.choice(["value", "value", "type", "drop", "repeat", "name"])
        if kind == "drop":
            node.attribute.remove(a)
        elif kind == "repeat":
            node.attribute.append(a)
        elif kind == "name":
            a.name = self.rng.choice(["axis", "axes", "perm", "to", "value", "pads", "group", "x"])
        elif kind == "type":
            a.type = self.rng.randrange(0, 15)
        elif a.ints and self.rng.random() < 0.7:
            a.ints[self.rng.randrange(len(a.ints))] = self.number()
        elif a.ints:
            a.ints.extend([self.number()] * self.rng.choice([1, 70]))
        else:
            a.i, a.f = self.number(), self.rng.choice([0.0, -1.0, float("nan"), float("inf"), 1e38])

    def wiring(self):
        node = self.node()
        if not node:
            return
        side = self.rng.choice([node.input, node.input, node.output])
        if side and self.rng.random() < 0.7:
            side[self.rng.randrange(len(side))] = self.rng.choice(self.names)
        elif side and self.rng.random() < 0.5:
            del side[self.rng.randrange(len(side)) :]
        else:
            side.append(self.rng.choice(self.names))

    def order(self):
        nodes = list(self.graph.node)
        if nodes and self.rng.random() < 0.5:
            nodes.pop(self.rng.randrange(len(nodes)))
        self.rng.shuffle(nodes)
        del self.graph.node[:]
        self.graph.node.extend(nodes)

    def constant(self):
        if not self.graph.initializer:
            return
        tensor = self.rng.choice(self.graph.initializer)
        kind = self.rng.choice(["dims", "type", "data", "name", "external"])
        if kind == "dims":
            if tensor.dims and self.rng.random() < 0.7:
                tensor.dims[self.rng.randrange(len(tensor.dims))] = self.number()
            else:
                tensor.dims.append(self.rng.choice([0, 1, 2]))
        elif kind == "type":
            tensor.data_type = self.rng.randrange(0, 26)
        elif kind == "data":
            tensor.raw_data = tensor.raw_data[: self.rng.randrange(len(tensor.raw_data) + 1)]
        elif kind == "name":
            tensor.name = self.rng.choice(self.names)
        else:
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=self.rng.choice(["../x", "/etc/passwd", "none", ""]))

    def interface(self):
        side = self.rng.choice([self.graph.input, self.graph.output])
        if not side:
            return
        value = self.rng.choice(side)
        tensor = value.type.tensor_type
        kind = self.rng.choice(["type", "dims", "rank", "name", "repeat", "drop"])
        if kind == "type":
            tensor.elem_type = self.rng.randrange(0, 26)
        elif kind == "dims" and tensor.shape.dim:
            tensor.shape.dim[self.rng.randrange(len(tensor.shape.dim))].dim_value = self.number()
        elif kind == "rank":
            tensor.shape.dim.add(dim_param=self.rng.choice(["N", "T", "?", "a b", "1", "N*2", "max(N"]))
        elif kind == "name":
            value.name = self.rng.choice(self.names)
        elif kind == "repeat":
            side.append(value)
        elif kind == "drop":
            side.remove(value)

    def opset(self):
        self.model.opset_import[0].version = self.rng.choice([0, 1, 7, 11, 13, 18, 23, 1000, -1])


def change_program(path, rng):
    """Bytes of program.fb inside a bundle, with both copies of its checksum."""
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        entry, directory = archive.getinfo("program.fb"), archive.start_dir
    name_size, extra_size = struct.unpack_from("<HH", data, entry.header_offset + 26)
    begin = entry.header_offset + 30 + name_size + extra_size
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = begin + rng.randrange(entry.file_size)
        data[at] = rng.choice([0, 1, 0xFF, 0x7F, 0x80, data[at] ^ 1 << rng.randrange(8)])
    crc = struct.pack("<I", zlib.crc32(data[begin : begin + entry.file_size]))
    data[entry.header_offset + 14 : entry.header_offset + 18] = crc
    at = directory
    while data[at : at + 4] == b"PK\x01\x02":
        name, extra, comment = struct.unpack_from("<HHH", data, at + 28)
        if data[at + 46 : at + 46 + name] == b"program.fb":
            data[at + 16 : at + 20] = crc
        at += 46 + name + extra + comment
    return bytes(data)


class Checker:
    def __init__(self, options, folder):
        self.options, self.folder, self.bad = options, folder, 0

    def run(self, seed, what, file, *command):
        limited = ["bash", "-c", 'ulimit -v 8000000; exec "$@"', "limited", self.options.bin / command[0], *command[1:]]
        try:
            done = subprocess.run(limited, cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return self.fault(seed, what, file, "hangs")
        said = done.returncode == 0 or done.stderr.startswith("error[DLCB") or "\nerror[DLCB" in done.stderr
        if done.returncode not in ALLOWED or not said:
            return self.fault(seed, what, file, f"exit {done.returncode}: {' '.join(done.stderr.split())[:250]}")
        return done.returncode == 0

    def fault(self, seed, what, file, text):
        self.bad += 1
        print(f"seed {seed} {what}: {text}", flush=True)
        if self.options.keep:
            self.options.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, self.options.keep / f"{seed}-{file.name}")
        return False

    def model(self, seed, rng):
        if self.options.model and rng.random() < 0.3:
            model = onnx.load(rng.choice(self.options.model))
        else:
            model = model_of(make_parts(seed, 2, 9, None))
        file = self.folder / "m.onnx"
        if rng.random() < 0.3:
            file.write_bytes(change_bytes(model.SerializeToString(), rng))
        else:
            Message(model, rng).change()
            file.write_bytes(model.SerializeToString())
        self.run(seed, "model", file, "dlcbc", file, "--stop-after=plan", "--verify-each", "-q")

    def bundle(self, seed, rng):
        file, whole = self.folder / "b.dlcb", self.folder / "whole.dlcb"
        onnx.save(model_of(make_parts(seed, 1, 6, None)), self.folder / "whole.onnx")
        if not self.run(seed, "whole model", self.folder / "whole.onnx", "dlcbc", self.folder / "whole.onnx", "-o", whole, "-q"):
            return
        for n in range(10):
            changed = change_program(whole, rng) if n else change_bytes(whole.read_bytes(), rng)
            file.write_bytes(changed)
            views = ["--dims", "--guards", "--kernels", "--host", "--thunks", "--memory", "--eval", "N=2,H=5,W=4,T=3,S=3,B=1"]
            if self.run(seed, "bundle", file, "dlcb-inspect", file, *views, "--json"):
                self.run(seed, "bundle", file, "dlcb-run", file, "--device", "sim", "-q")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--model", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--keep", type=pathlib.Path, help="copy files that fail there")
    parser.add_argument("--what", choices=["model", "bundle"], help="only these")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    with tempfile.TemporaryDirectory(prefix="dlcb-files-") as folder:
        checker = Checker(options, pathlib.Path(folder))
        for seed in range(options.seed, options.seed + options.count):
            rng = random.Random(seed)
            what = options.what or ("bundle" if seed % 20 == 0 else "model")
            getattr(checker, what)(seed, rng)
    print(f"{options.count} files, {checker.bad} faults")
    return 1 if checker.bad else 0


if __name__ == "__main__":
    sys.exit(main())
