#!/usr/bin/env python3
"""Golden tests: commands whose whole output is kept in a file beside them.

    ;;; ARGS: dlcbc %i --start-at=fuse --stop-after=fuse --print-after=fuse
    the input, up to the next line that begins with ;;;
    ;;; STDOUT
    what the command must print
    ;;; STDERR
    what it must print there (left out: nothing)
    ;;; EXIT: 3

Long output that changes often, such as kernels, is pinned in parts instead:

    ;;; STDOUT HAS
    texts that lines of the output hold, in this order, whatever comes before, between and after; {{x*}} is a regular
    expression. Of several such parts each is looked for from the beginning
    ;;; STDOUT LACKS
    texts that no line of it holds

The first word of ARGS is a program of the build. %i is a file that holds the input, %m the model that the input describes in
protobuf's text form, %t an empty folder, %r the folder of these three, %d the test's own folder; these names and the build's
bin folder are written back in the output. Several ARGS lines run one after the other until one fails; their outputs are
joined. A test's name begins with "bad-" exactly if its exit code is not 0, and the command that fails must leave %t as it
found it. --rebase rewrites the expected part of every test that differs; look at the diff before committing it.
"""
import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TIMEOUT_S = 120
SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "compiler/import/onnx/onnx.proto"


SECTIONS = {"STDOUT": "stdout", "STDERR": "stderr", "STDOUT HAS": "has", "STDOUT LACKS": "lacks"}


def pattern(text):
    """What a line of HAS or LACKS looks for."""
    parts = re.split(r"\{\{(.*?)\}\}", text.strip())
    return re.compile("".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts)))


class Case:
    """One test file, split into its parts."""

    def __init__(self, path):
        self.path = path
        self.commands, self.input, self.stdout, self.stderr, self.exit = [], "", "", "", 0
        self.has, self.lacks = [], ""
        section = "input"
        for line in path.read_text().splitlines(keepends=True):
            if not line.startswith(";;;"):
                if section == "has":
                    self.has[-1] += line
                else:
                    setattr(self, section, getattr(self, section) + line)
                continue
            word, _, rest = line[3:].strip().partition(":")
            if word == "ARGS":
                self.commands.append(rest.strip())
            elif word == "EXIT":
                self.exit = int(rest)
            elif word in SECTIONS:
                section = SECTIONS[word]
                if section == "has":
                    self.has.append("")
            else:
                raise ValueError(f"{path}: unknown section {line.strip()!r}")
        if not self.commands:
            raise ValueError(f"{path}: no ;;; ARGS line")

    def text(self, stdout, stderr, exit_code):
        """The file as it would be with these results."""
        text = "".join(f";;; ARGS: {command}\n" for command in self.commands) + self.input
        bodies = [("STDOUT", stdout), ("STDERR", stderr)]
        if self.has or self.lacks:
            parts = [("STDOUT HAS", part) for part in self.has]
            bodies = [*parts, ("STDOUT LACKS", self.lacks), ("STDERR", stderr)]
        for name, body in bodies:
            if body or (name == "STDOUT" and not stderr):
                text += f";;; {name}\n" + body + ("" if body.endswith("\n") or not body else "\n")
        return text + (f";;; EXIT: {exit_code}\n" if exit_code else "")

    def parts_missed(self, stdout):
        """What is wrong with an output that is pinned in parts, or None."""
        lines = stdout.splitlines()
        for part in self.has:
            at = 0
            for text in part.splitlines():
                found = next((i for i in range(at, len(lines)) if pattern(text).search(lines[i])), None)
                if found is None:
                    rest = "\n".join(lines[at : at + 60])
                    return f"no line has {text.strip()!r} from line {at + 1} of the output on:\n{rest}\n"
                at = found + 1
        for text in self.lacks.splitlines():
            found = next((line for line in lines if pattern(text).search(line)), None)
            if found is not None:
                return f"a line has {text.strip()!r}:\n{found}\n"
        return None


class Tools:
    """What turns a test into commands."""

    def __init__(self, bin_dir, protoc, schema):
        self.bin_dir, self.protoc, self.schema = bin_dir, protoc, schema

    def encode_model(self, text, path):
        command = [self.protoc, "--encode=dlcb.onnx.ModelProto", f"--proto_path={self.schema.parent}", self.schema.name]
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=TIMEOUT_S)
        if done.returncode:
            raise OSError(f"the input is no model in text form: {done.stderr.decode(errors='replace')}")
        path.write_bytes(done.stdout)


def contents(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def execute(case, tools):
    """Runs the commands in a folder of their own; returns (stdout, stderr, exit code)."""
    with tempfile.TemporaryDirectory(prefix="dlcb-golden-") as root:
        folder = pathlib.Path(root, "t")
        folder.mkdir()
        input_file = pathlib.Path(root, "input.txt")
        input_file.write_text(case.input)
        model_file = pathlib.Path(root, "model.onnx")
        if any("%m" in command for command in case.commands):
            tools.encode_model(case.input, model_file)
        names = {"%i": str(input_file), "%m": str(model_file), "%t": str(folder)}
        names |= {"%d": str(case.path.parent), "%r": root}
        environment = {**os.environ, "XDG_CACHE_HOME": root, "LC_ALL": "C"}
        stdout, stderr, code = "", "", 0
        for command in case.commands:
            words = shlex.split(command)
            for mark, name in names.items():
                words = [word.replace(mark, name) for word in words]
            words[0] = str(tools.bin_dir / words[0])
            before = contents(folder)
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=TIMEOUT_S)
            stdout += done.stdout.decode(errors="replace")
            stderr += done.stderr.decode(errors="replace")
            code = done.returncode
            if code:
                if contents(folder) != before:
                    stderr += f"LEFT BEHIND: {sorted(map(str, contents(folder)))}\n"
                break

        def restored(text):
            for mark, name in names.items():
                text = text.replace(name, mark)
            return text.replace(str(tools.bin_dir) + "/", "")

        return restored(stdout), restored(stderr), code


def check(case, tools, rebase):
    """Returns what is wrong with the test, or None."""
    try:
        result = execute(case, tools)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot be run: {error}"
    if (result[2] != 0) != case.path.name.startswith("bad-"):
        return f"exit code {result[2]}, but the name must begin with 'bad-' exactly if it is not 0\n{result[1]}"
    if "LEFT BEHIND: " in result[1]:
        return result[1]
    if missed := case.parts_missed(result[0]):
        return missed
    wanted, actual = case.path.read_text(), case.text(*result)
    if wanted == actual:
        return None
    if rebase:
        case.path.write_text(actual)
        return None
    return "".join(difflib.unified_diff(wanted.splitlines(True), actual.splitlines(True), "expected", "actual"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", type=pathlib.Path, required=True)
    parser.add_argument("--protoc", default="protoc", help="protobuf's compiler, which encodes the models")
    parser.add_argument("--rebase", action="store_true", help="rewrite what is expected")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="tests at a time")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="tests (default: all)")
    flags = parser.parse_args()
    here = pathlib.Path(__file__).resolve().parent
    files = [f.resolve() for f in flags.files] or sorted(here.glob("*/**/*.txt")) + sorted(here.glob("*/*.txt"))
    cases = [Case(path) for path in dict.fromkeys(files)]
    if not cases:
        sys.exit("no golden tests found")
    tools = Tools(flags.bin_dir.resolve(), flags.protoc, SCHEMA)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(flags.j) as pool:
        results = pool.map(lambda case: check(case, tools, flags.rebase), cases)
        for case, problem in zip(cases, results):
            if problem is not None:
                failed += 1
                print(f"FAILED {case.path.relative_to(here) if here in case.path.parents else case.path}\n{problem}")
    print(f"{len(cases) - failed} of {len(cases)} golden tests passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
