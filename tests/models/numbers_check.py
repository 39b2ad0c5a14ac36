"""Compares outputs on the simulator or a GPU with onnxruntime's.

The limit is 1e-3 of the norm. Where onnxruntime itself, with its optimisations on, is further than 3e-4 from what it says
without them, the limit is three times that noise, if that is more. With TF32 the limit is 1e-2; the noise is then what
onnxruntime's result moves by when operands of products are rounded to TF32 (tf32.py). A saturating last operator (the text
detector's sigmoid on pictures without text) makes noise of rounding; the tensor before it is compared as well, by the plain
limit.
"""
import pathlib
import re
import shutil
import subprocess
import sys

import numpy

import build_check
from onnx_file import field

LIMITS = {"off": 1e-3, "on": 1e-2}  # by TF32
NOISES = {"off": "on", "on": "tf32"}  # what onnxruntime's result without optimisations is compared with
NOISE = 3e-4
REFERENCE_TIMEOUT_S = 300
RUN_TIMEOUT_S = 300


def with_output(model_file, tensor, target):
    """Writes a copy of the model with one more output. Joined protobuf messages merge: what is appended here is
    ModelProto.graph (7) { output (12) { name (1) } }."""
    target.write_bytes(model_file.read_bytes() + field(7, field(12, field(1, tensor.encode()))))


def distance(ours, theirs):
    """Relative L2 norm of the difference; 0 for two empty tensors."""
    ours, theirs = ours.astype(numpy.float64).ravel(), theirs.astype(numpy.float64).ravel()
    norm = numpy.linalg.norm(ours - theirs)
    return float(norm / max(numpy.linalg.norm(theirs), 1e-30)) if norm else 0.0


def run_reference(model_file, folders, *flags):
    """Where the process dies or hangs, the folder it was at counts as not taken, and the rest is run anew."""
    waiting = list(folders)
    while waiting:
        command = [sys.executable, pathlib.Path(__file__).with_name("reference.py"), model_file, *waiting, *flags]
        try:
            subprocess.run([str(word) for word in command], capture_output=True, timeout=REFERENCE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            pass
        waiting = [folder for folder in waiting if not (folder / "reference.npz").exists()]
        if waiting:
            numpy.savez(waiting.pop(0) / "reference.npz")


def run_bundle(context, bundle, feeds, folder, tf32):
    """The outputs, by name as a file name; a string says what went wrong."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    command = [context.bin / "dlcb-run", bundle, "--device", context.device, "--sim-cache-dir", context.sim_cache, "--quiet",
               "--tf32", tf32, "--output", folder / "out"]
    for index, (name, value) in enumerate(feeds.items()):
        numpy.save(folder / f"in_{index}.npy", value)
        command += ["--input", f"{name}=@{folder / f'in_{index}.npy'}"]
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, timeout=RUN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"dlcb-run took more than {RUN_TIMEOUT_S} s"
    if done.returncode:
        return f"dlcb-run: exit code {done.returncode}: {done.stderr.decode(errors='replace').strip()}"
    return {path.stem: numpy.load(path) for path in (folder / "out").glob("*.npy")}


def compare(model, outputs, reference, where, tf32, context):
    """Worst distance and worst noise of the outputs that both have; the tap counts as one."""
    row = {"error": 0.0, "noise": 0.0}
    for key in reference.files:
        mode, name = key.split(":", 1)
        if mode != "off":
            continue
        ours, theirs = outputs.get(re.sub(r"[^A-Za-z0-9._-]", "_", name)), reference[key]
        if not context.expect(ours is not None, f"{where}: there is no output {name}"):
            continue
        if not context.expect(ours.shape == theirs.shape, f"{where}: {name} is {ours.shape}, not {theirs.shape}"):
            continue
        if not context.expect(ours.dtype == theirs.dtype, f"{where}: {name} is of {ours.dtype}, not {theirs.dtype}"):
            continue
        if ours.dtype.kind in "biu":  # a norm would let a wrong index or class pass
            different = int(numpy.count_nonzero(ours != theirs))
            context.expect(different == 0, f"{where}: {different} elements of {name} differ")
            continue
        error = distance(ours, theirs)
        other = f"{NOISES[tf32]}:{name}"
        noise = distance(reference[other], theirs) if other in reference.files else 0.0
        limit = max(LIMITS[tf32], 3 * noise if noise > NOISE and name != model.tap else 0)
        context.expect(error <= limit, f"{where}: {name} differs by {error:.1e} of its norm, limit {limit:.1e}")
        if name == model.tap:
            row["before"] = error
        else:
            row = {**row, "error": max(row["error"], error), "noise": max(row["noise"], noise)}
    return row


def tapped(model, context):
    """The model and bundle with the tap as one more output."""
    source = context.folder / "tapped.onnx"
    with_output(context.model, model.tap, source)
    build_check.compile_model(context, model, context.folder / "tapped", 2, source)
    return source, context.folder / "tapped" / context.bundle.name


def run_all(model, context, bundles, feeds, folder, tf32):
    """The outputs of all bundles; those of the first where several have one."""
    outputs = {}
    for bundle in bundles:
        more = run_bundle(context, bundle, feeds, folder, tf32)
        if isinstance(more, str):
            return more
        outputs = more | outputs
    return outputs


def check(model, context):
    """A row for each shape; on a GPU its "tf32" is a row too."""
    source, bundles = context.model, [context.bundle]
    try:
        if model.tap:
            source, bundle = tapped(model, context)
            bundles.append(bundle)
    except RuntimeError as error:
        context.expect(False, f"with {model.tap} as an output: {error}")
        return []
    cases = model.feeds(numpy.random.default_rng([context.seed, *model.name.encode()]))
    folders = [context.folder / f"case_{index}" for index in range(len(cases))]
    for feeds, folder in zip(cases, folders):
        folder.mkdir(exist_ok=True)
        numpy.savez(folder / "feeds.npz", **feeds)
    flags = []
    if context.device == "cuda":
        import tf32 as rounding  # needs the onnx package

        rounding.write(source, context.folder / "tf32.onnx")
        flags = ["--tf32", context.folder / "tf32.onnx"]
    run_reference(source, folders, *flags)
    rows = []
    for feeds, folder in zip(cases, folders):
        where = ", ".join(f"{name} {list(value.shape) if value.shape else value}" for name, value in feeds.items())
        with numpy.load(folder / "reference.npz") as reference:
            row = {"where": where, "compared": bool(reference.files)}
            for tf32 in ("off", "on") if context.device == "cuda" else ("off",):
                outputs = run_all(model, context, bundles, feeds, folder, tf32)
                at = f"{where}, TF32 {tf32}"
                if context.expect(isinstance(outputs, dict), f"{at}: {outputs}") and row["compared"]:
                    found = compare(model, outputs, reference, at, tf32, context)
                    row |= found if tf32 == "off" else {"tf32": found}
        rows.append(row)
    context.expect(sum(row["compared"] for row in rows) >= 6, "onnxruntime took fewer than six of the shapes")
    return rows


def describe(rows):
    for row in rows:
        if "error" not in row:
            yield f"{row['where']}: not compared, onnxruntime does not take it"
            continue
        before = f", before the last operator {row['before']:.1e}" if "before" in row else ""
        tf32 = f", with TF32 {row['tf32']['error']:.1e} (noise {row['tf32']['noise']:.1e})" if "tf32" in row else ""
        yield f"{row['where']}: {row['error']:.1e}{tf32} (onnxruntime's noise {row['noise']:.1e}{before})"
