#!/usr/bin/env python3
"""The C interface from outside the build: every line of docs/c_api.md that compiles an example is run as it stands there, for
each example, and what it makes runs a bundle in the simulator; then Python itself loads libdlcb.so. None of these programs
lies where libdlcb_sim.so is."""
import argparse
import ctypes
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPH = """graph {
  symbol N dim 0..
  input %x: f32[N, 4]
  %y = neg %x
  output "y" %y
}
"""


def documented():
    """The commands that docs/c_api.md shows."""
    lines = (ROOT / "docs/c_api.md").read_text().splitlines()
    return [line.strip() for line in lines if line.startswith("    cc ")]


def check_example(command, name, build, folder, bundle):
    program = folder / name
    command = command.replace("-o terse examples/terse.c", f"-o {program} examples/{name}.c")
    command = command.replace("build/release", str(build))
    subprocess.run(command, shell=True, check=True, cwd=ROOT)
    arguments = {"terse": ["3", "4"], "explained": ["sim", "x=3x4"]}[name]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(build / "lib"), "DLCB_SIM": "1"}
    result = subprocess.run([program, bundle, *arguments], env=environment, capture_output=True, text=True)
    expected = {"terse": "3 4\n", "explained": "output y: N 4"}[name]
    if result.returncode != 0 or expected not in result.stdout:
        raise SystemExit(f"{command}\nmade a program that fails:\n{result.stdout}{result.stderr}")
    program.unlink()


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", DataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", ctypes.c_int), ("device_index", ctypes.c_int),
                ("use_graphs", ctypes.c_int), ("graph_cache_entries", ctypes.c_int), ("allow_tf32_conv", ctypes.c_int),
                ("allow_tf32_matmul", ctypes.c_int), ("allocator", ctypes.c_void_p), ("sim_cache_dir", ctypes.c_char_p),
                ("use_libraries", ctypes.c_int)]


def check_python(build, folder, bundle):
    """Loads the library by a relative name and leaves the folder that it is relative to."""
    os.chdir(build)
    dlcb = ctypes.CDLL("./lib/libdlcb.so")
    os.chdir(folder)
    dlcb.dlcb_last_error.restype = ctypes.c_char_p
    options, model, context = Options(), ctypes.c_void_p(), ctypes.c_void_p()
    dlcb.dlcb_options_init(ctypes.byref(options))
    options.device = 1  # DLCB_SIM
    if dlcb.dlcb_load_file(str(bundle).encode(), ctypes.byref(options), ctypes.byref(model)):
        raise SystemExit(f"libdlcb.so in Python: {dlcb.dlcb_last_error(None).decode()}")
    if dlcb.dlcb_context_create(model, ctypes.byref(context)):
        raise SystemExit(f"libdlcb.so in Python: {dlcb.dlcb_last_error(None).decode()}")
    values, shape, made = (ctypes.c_float * 4)(1, 2, 3, 4), (ctypes.c_int64 * 2)(1, 4), (ctypes.c_int64 * 2)()
    x = Tensor(ctypes.addressof(values), Device(1, 0), 2, DataType(2, 32, 1), shape, None, 0)
    y = Tensor(None, Device(1, 0), 2, DataType(2, 32, 1), made, None, 0)
    if dlcb.dlcb_invoke(context, ctypes.byref(x), 1, ctypes.byref(y), 1, None):
        raise SystemExit(f"libdlcb.so in Python: {dlcb.dlcb_last_error(context).decode()}")
    result = list((ctypes.c_float * 4).from_address(y.data))
    if result != [-1, -2, -3, -4]:
        raise SystemExit(f"libdlcb.so in Python computed {result}")
    dlcb.dlcb_context_free(context)
    dlcb.dlcb_model_free(model)
    os.chdir("/")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    build = parser.parse_args().build.resolve()
    commands = documented()
    if len(commands) < 2:
        raise SystemExit("docs/c_api.md shows no commands that compile an example")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["XDG_CACHE_HOME"] = name
        os.environ.pop("LD_LIBRARY_PATH", None)
        text, bundle = folder / "neg.ir", folder / "neg.dlcb"
        text.write_text(GRAPH)
        dlcbc = [build / "bin/dlcbc", text, "--start-at=solve_shapes", "-o", bundle, "--no-cache", "--quiet"]
        subprocess.run(dlcbc, check=True)
        for command in commands:
            for example in ("terse", "explained"):
                check_example(command, example, build, folder, bundle)
        check_python(build, folder, bundle)
    print(f"{len(commands)} documented commands hold for both examples, and Python loads libdlcb.so")


if __name__ == "__main__":
    main()
