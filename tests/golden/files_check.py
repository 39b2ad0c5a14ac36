#!/usr/bin/env python3
"""What the programs load and leave on disk, and what they say of damaged files: reproducible bundles, interrupted and failed
builds, cut models, damaged bundles and bundles of another version.

usage: files_check.py --bin-dir BUILD/bin [--protoc PROTOC]
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

from run_golden import SCHEMA, TIMEOUT_S, Tools, contents

REFUSED = 3  # docs/errors.md
ENVIRONMENT = 6
FAULT = 70
MODEL = """
ir_version: 8
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 3 } } } } }
  initializer { name: "w" data_type: 1 dims: 3 dims: 5 float_data: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] }
  node { op_type: "MatMul" name: "/proj" input: "x" input: "w" output: "h" }
  node { op_type: "Softmax" name: "/soft" input: "h" output: "y" }
  output { name: "y" }
}
"""

# A layer with a pattern to recognise and weights too large for the text of a pass.
LARGE_MODEL = """
ir_version: 8
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 64 } } } } }
  initializer { name: "w" data_type: 1 dims: 64 dims: 32 %s }
  node { op_type: "MatMul" input: "x" input: "w" output: "h" }
  node { op_type: "Sigmoid" input: "h" output: "s" }
  node { op_type: "Mul" input: "h" input: "s" output: "m" }
  node { op_type: "Softmax" input: "m" output: "y" }
  output { name: "y" }
}
""" % " ".join(f"float_data: {n % 13 - 6}" for n in range(64 * 32))


class Checks:
    """Each method is one check; `root` is a folder that holds the model and nothing else."""

    def __init__(self, bin_dir, root):
        self.bin_dir, self.root, self.model = bin_dir, root, root / "model.onnx"
        self.bundle, self.large_model = root / "model.dlcb", root / "large.onnx"
        self.build(self.model, self.bundle)

    def run(self, program, *arguments, env=None):
        command = [str(self.bin_dir / program), *map(str, arguments)]
        return subprocess.run(
            command, cwd=self.root, env=env, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S
        )

    def build(self, model, bundle, *flags):
        done = self.run("dlcbc", model, "-o", bundle, "--no-cache", "--quiet", *flags)
        assert done.returncode == 0, done.stderr

    def refused(self, done, what, code=REFUSED):
        assert done.returncode == code, f"{what}: exit code {done.returncode}: {done.stderr}"
        assert done.stderr.startswith("error[DLCB"), f"{what}: {done.stderr!r}"

    def folder(self, name):
        folder = self.root / name
        folder.mkdir()
        return folder

    def builds_are_reproducible(self):
        """At any -j, in any folder, from any path to the model; no path is inside."""
        for name, threads in (("first", 1), ("second_folder", 2)):
            folder = self.folder(name)
            shutil.copy(self.model, folder / "model.onnx")
            self.build(folder / "model.onnx", folder / "out.dlcb", "-j", threads)
            data = (folder / "out.dlcb").read_bytes()
            assert data == self.bundle.read_bytes(), f"-j {threads} in another folder: other bytes"
            assert str(self.root).encode() not in data and name.encode() not in data, "the bundle holds a path"

    def failed_builds_change_nothing(self):
        folder = self.folder("failed")
        broken, target = folder / "broken.onnx", folder / "out.dlcb"
        target.write_text("the previous bundle")
        data = self.model.read_bytes()
        for cut in range(0, len(data), max(1, len(data) // 24)):
            broken.write_bytes(data[:cut])
            before = contents(folder)
            self.refused(self.run("dlcbc", broken, "-o", target, "--no-cache"), f"model cut to {cut} bytes")
            assert contents(folder) == before, f"model cut to {cut} bytes: {sorted(contents(folder))}"

    def interrupted_builds_change_nothing(self):
        """Or, where the signal came after the last step, they have put a whole bundle in place."""
        folder = self.folder("interrupted")
        target = folder / "out.dlcb"
        target.write_text("the previous bundle")
        allowed = ({target: target.read_bytes()}, {target: self.bundle.read_bytes()})
        command = [str(self.bin_dir / "dlcbc"), str(self.model), "-o", str(target), "--no-cache", "--quiet"]
        stopped = 0
        for step in range(8):
            process = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
            time.sleep(0.02 * step)
            process.send_signal((signal.SIGINT, signal.SIGTERM)[step % 2])
            try:
                code = process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise AssertionError(f"a signal after {step * 20} ms did not end the program")
            if code == 0:
                break  # it was done before the signal came, and so will the later ones be
            stopped += 1
            assert contents(folder) in allowed, f"stopped after {step * 20} ms: {sorted(contents(folder))}"
        assert stopped > 0, "no build could be stopped"

    def damaged_bundles_are_refused(self):
        data = self.bundle.read_bytes()
        damaged = self.root / "damaged.dlcb"
        ends = {*range(0, 64), *range(len(data) - 64, len(data))}
        places = sorted(ends | {*range(0, len(data), max(1, len(data) // 64))})
        for place in places:
            damaged.write_bytes(data[:place] + bytes([data[place] ^ 0x40]) + data[place + 1 :])
            self.refused(self.run("dlcb-inspect", damaged), f"byte {place} of {len(data)} flipped")
        for size in range(0, len(data), max(1, len(data) // 32)):
            damaged.write_bytes(data[:size])
            self.refused(self.run("dlcb-inspect", damaged), f"cut to {size} of {len(data)} bytes")
        self.refused(self.run("dlcb-run", damaged, "--device", "sim", "--input", "x=ones[2,3]"), "dlcb-run")
        damaged.unlink()

    def other_versions_are_refused(self):
        """In one sentence with both versions."""
        other = self.root / "other.dlcb"
        with zipfile.ZipFile(self.bundle) as source, zipfile.ZipFile(other, "w") as target:
            for entry in source.infolist():
                data = source.read(entry)
                if entry.filename == "manifest.json":
                    changed = data.replace(b'"format_version": 2,', b'"format_version": 77,')
                    assert changed != data, data
                    data = changed
                target.writestr(entry.filename, data)
        for program in ("dlcb-inspect", "dlcb-run"):
            done = self.run(program, other)
            self.refused(done, program)
            assert "DLCB4002" in done.stderr and "77" in done.stderr and "reads version 2" in done.stderr, done.stderr
        other.unlink()

    def passes_can_be_run_again(self):
        """From the text of every pass, large constants and all, to the same bytes."""
        folder = self.folder("dump")
        self.build(self.large_model, folder / "whole.dlcb", "--dump-dir", folder / "passes")
        texts = sorted((folder / "passes").glob("*.txt"))
        starts = [p.split()[0] for p in self.run("dlcbc", "--list-passes").stdout.splitlines()]
        starts = starts[1 : starts.index("fuse") + 1]
        assert len(texts) > len(starts) and (folder / "passes" / "weights.bin").stat().st_size >= 4 * 64 * 32, texts
        for text, start in zip(texts, starts):
            self.build(text, folder / "again.dlcb", "--start-at", start)
            assert (folder / "again.dlcb").read_bytes() == (folder / "whole.dlcb").read_bytes(), f"from {start}: other bytes"

    def passes_can_be_dumped_over(self):
        """A pass that starts from a dump may dump beside it: the weights that it reads stay what they were."""
        folder = self.folder("dumped_over")
        self.build(self.large_model, folder / "whole.dlcb", "--dump-dir", folder)
        (text,) = folder.glob("*_import.txt")
        self.build(text, folder / "again.dlcb", "--start-at", "solve_shapes", "--dump-dir", folder)
        assert (folder / "again.dlcb").read_bytes() == (folder / "whole.dlcb").read_bytes(), "other bytes"

    def no_program_waits_at_a_pipe(self):
        """That lies where a file is read or written; no pipe is removed either."""
        folder = self.folder("pipes")
        pipe, tensor, dump = folder / "pipe", folder / "x.npy", folder / "dump"
        dump.mkdir()
        for path in (pipe, tensor, dump / "weights.bin", dump / "00_import.txt", dump / "y.npy"):
            os.mkfifo(path)
        for what in (
            ["dlcbc", pipe, "-o", folder / "out.dlcb"],
            ["dlcbc", self.model, "-o", pipe],
            ["dlcbc", self.large_model, "-o", folder / "out.dlcb", "--dump-dir", dump],
            ["dlcb-inspect", pipe],
            ["dlcb-run", pipe, "--device", "sim"],
            ["dlcb-run", self.bundle, "--device", "sim", "--input", f"x=@{tensor}"],
            ["dlcb-run", self.bundle, "--device", "sim", "--input", "x=ones[2,3]", "--output", dump],
        ):
            done = self.run(*what)
            self.refused(done, f"{what[0]} {what[1:]}", done.returncode or 1)
            assert "not a regular file" in done.stderr, done.stderr
        (dump / "00_import.txt").unlink()
        done = self.run("dlcbc", self.large_model, "-o", folder / "out.dlcb", "--dump-dir", dump)
        self.refused(done, "weights.bin", done.returncode or 1)
        assert pipe.is_fifo() and (dump / "weights.bin").is_fifo() and not (folder / "out.dlcb").exists()

    def faults_can_be_reproduced(self):
        """By the command that the message shows, from files that are left beside each other."""
        folder = self.folder("fault")
        self.build(self.large_model, folder / "whole.dlcb", "--dump-dir", folder / "passes")
        (text,) = (folder / "passes").glob("*_fold_constants.txt")
        lines = text.read_text().replace("%y: f32[N, 32]", "%y: f32[N, 31]")
        text.write_text(lines)
        flags = ["--start-at=recognise_patterns", "--verify-each", "-o", folder / "broken.dlcb"]
        done = self.run("dlcbc", text, *flags)
        assert done.returncode == FAULT and "recognise_patterns" in done.stderr, done.stderr
        command = done.stderr.strip().splitlines()[-1].split()
        kept = sorted(p.suffix for p in self.root.glob("dlcbc-fault-*"))
        assert kept == [".ir", ".weights"] and not (folder / "broken.dlcb").exists(), kept
        again = self.run(*command, "--verify-each")
        assert again.returncode == FAULT and again.stderr.splitlines()[0] == done.stderr.splitlines()[0], again.stderr
        for file in self.root.glob("dlcbc-fault-*"):
            file.unlink()

    def an_unwritable_cache_is_told(self):
        """Once, also to those who want no summary, and the bundle is made."""
        for quiet in ([], ["--quiet"]):
            done = self.run("dlcbc", self.model, "-o", self.root / "told.dlcb", "--cache-dir", self.model, *quiet)
            assert done.returncode == 0 and done.stderr.count("warning: compiled kernels cannot be kept in") == 1, done.stderr
            (self.root / "told.dlcb").unlink()

    def only_the_c_library_is_loaded(self):
        """By any program that does not compile or run a kernel."""
        environment = {**os.environ, "LD_DEBUG": "files"}
        for command in ("dlcbc --version", "dlcb-run --version", f"dlcb-inspect {self.bundle}"):
            program, argument = command.split()
            done = self.run(program, argument, env=environment)
            loaded = set(re.findall(r"file=(\S+) \[\d+\];  (?:needed|dynamically loaded)", done.stderr))
            assert done.returncode == 0 and loaded, done.stderr
            assert loaded <= {"libc.so.6", "libm.so.6"}, f"{program} loads {sorted(loaded)}"

    def programs_need_no_gpu(self):
        """Nor do they say anything but one error line where one was asked for and is not there."""
        if pathlib.Path("/dev/nvidiactl").exists():
            return
        done = self.run("dlcb-run", self.bundle, "--device", "cuda", "--input", "x=ones[2,3]")
        self.refused(done, "--device cuda", ENVIRONMENT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", type=pathlib.Path, required=True)
    parser.add_argument("--protoc", default="protoc")
    flags = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="dlcb-files-") as root:
        root = pathlib.Path(root)
        tools = Tools(flags.bin_dir, flags.protoc, SCHEMA)
        tools.encode_model(MODEL, root / "model.onnx")
        tools.encode_model(LARGE_MODEL, root / "large.onnx")
        checks = Checks(flags.bin_dir.resolve(), root)
        for check in (
            checks.builds_are_reproducible,
            checks.failed_builds_change_nothing,
            checks.interrupted_builds_change_nothing,
            checks.damaged_bundles_are_refused,
            checks.other_versions_are_refused,
            checks.passes_can_be_run_again,
            checks.passes_can_be_dumped_over,
            checks.no_program_waits_at_a_pipe,
            checks.faults_can_be_reproduced,
            checks.an_unwritable_cache_is_told,
            checks.only_the_c_library_is_loaded,
            checks.programs_need_no_gpu,
        ):
            try:
                check()
                print(f"ok      {check.__name__}")
            except (AssertionError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAILED  {check.__name__}: {error}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
