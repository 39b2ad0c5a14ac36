"""Compiles a model in two folders, cold each time, and checks that the bundles are equal, what they cost, and the code of their
kernels."""
import json
import os
import statistics
import subprocess
import tempfile
import time

TIMED_BUILDS = 3
MEGABYTE = 1e6


def compile_model(context, model, folder, threads, source=None):
    """Wall seconds, peak resident bytes, dlcbc's own report. Raises RuntimeError with dlcbc's message."""
    folder.mkdir(parents=True, exist_ok=True)
    with (tempfile.TemporaryDirectory() as cache, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors):
        command = [context.bin / "dlcbc", source or context.model, "-o", folder / f"{model.name}.dlcb", f"-j{threads}", "--json",
                   "--cache-dir", cache, *model.arguments]
        start = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], cwd=folder, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            raise RuntimeError(f"dlcbc: exit code {process.returncode}: {errors.read().decode(errors='replace').strip()}")
        return seconds, usage.ru_maxrss * 1024, json.loads(output.read())


def once(model, context):
    """One build into the -j2 folder, not judged: for machines where something else is of interest."""
    try:
        seconds, peak, report = compile_model(context, model, context.folder / "j2", 2)
    except RuntimeError as error:
        context.expect(False, str(error))
        return None
    return {"seconds": seconds, "peak_bytes": peak, "bundle_bytes": context.bundle.stat().st_size, "weight_bytes": report["weight_bytes"]}


def check_kernels(context):
    """No kernel of these models needs a stack frame or a subroutine of the device compiler: either would show that an index
    is not divided by multiplication, that an array is not in registers, or that a quotient is exact without need."""
    command = [context.bin / "dlcb-inspect", context.bundle, "--kernels", "--json"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    for kernel in json.loads(done.stdout)["kernels"]:
        context.expect(kernel["stack_bytes"] == 0, f"kernel {kernel['name']} has a stack of {kernel['stack_bytes']} bytes")
        context.expect(not kernel["calls"], f"kernel {kernel['name']} calls a subroutine")


def check(model, context):
    """The report of the -j2 builds, their median time; what is wrong goes to context.failures."""
    try:
        single, _, _ = compile_model(context, model, context.folder / "j1", 1)
        builds = [compile_model(context, model, context.folder / "j2", 2) for _ in range(TIMED_BUILDS)]
    except RuntimeError as error:
        context.expect(False, str(error))
        return None
    seconds = statistics.median(build[0] for build in builds)
    peak = max(build[1] for build in builds)
    report = builds[-1][2]
    size = context.bundle.stat().st_size
    context.expect((context.folder / "j1" / context.bundle.name).read_bytes() == context.bundle.read_bytes(),
                   "builds at -j1 and -j2 in two folders differ")
    weights = report["weight_bytes"]
    context.expect(size <= weights + MEGABYTE, f"the bundle has {size} bytes for {weights} bytes of weights")
    context.expect(peak <= 2 * weights + 400 * MEGABYTE, f"peak memory is {peak} bytes for {weights} bytes of weights")
    context.expect(report["cached_modules"] == 0, "the cache was not cold")
    check_kernels(context)
    kept = ("inputs", "outputs", "guards", "kernels", "entry_points", "library_calls", "weight_bytes")
    measured = {"seconds": seconds, "seconds_one_thread": single, "peak_bytes": peak, "bundle_bytes": size}
    return measured | {key: report[key] for key in kept}


def describe(report):
    if report is None:
        return "not compiled"
    single = f" ({report['seconds_one_thread']:.2f} s with -j1)" if "seconds_one_thread" in report else ""
    return (f"{report['seconds']:.2f} s{single}, "
            f"{report['bundle_bytes'] / MEGABYTE:.1f} MB for {report['weight_bytes'] / MEGABYTE:.1f} MB of weights, "
            f"peak {report['peak_bytes'] / MEGABYTE:.0f} MB")
