"""Inputs that a model cannot take: refused by dlcb-run and through the C interface with the same message."""
import json
import subprocess

from models import DETECTOR_SIDES

REFUSED = 4  # exit code of dlcb-run and dlcb-inspect --eval
TIMEOUT_S = 60


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT_S)
    return done.returncode, done.stderr


def by_dlcb_run(case, context):
    command = [context.bin / "dlcb-run", context.bundle, "--device", context.device, "--sim-cache-dir", context.sim_cache]
    for name, shape in case.inputs.items():
        value = shape if isinstance(shape, int) else f"zeros[{','.join(map(str, shape))}]"
        command += ["--input", f"{name}={value}"]
    return run(*command)


def through_c(case, context):
    """examples/explained.c; scalars are zeros there."""
    shapes = [f"{name}={'' if isinstance(shape, int) else 'x'.join(map(str, shape))}" for name, shape in case.inputs.items()]
    return run(context.bin / "example_explained", context.bundle, context.device, *shapes)


def refusals(model, context):
    """The first line of each message."""
    messages = []
    for case in model.refused:
        wanted = (case.where, case.needed, case.node)
        code, message = by_dlcb_run(case, context)
        context.expect(code == REFUSED and all(part in message for part in wanted),
                       f"dlcb-run on {case.inputs}: exit code {code}, wanted {REFUSED} and {wanted}: {message.strip()}")
        c_code, c_message = through_c(case, context)
        context.expect(c_code == 1 and all(part in c_message for part in ("input refused", *wanted)),
                       f"C interface on {case.inputs}: exit code {c_code}, wanted 1 and {wanted}: {c_message.strip()}")
        messages.append(message.splitlines()[0] if message else "")
    return messages


def dim_names(context):
    command = [context.bin / "dlcb-inspect", context.bundle, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    return json.loads(done.stdout)["inputs"][0]["dims"]


def detector_sides(context):
    """The guards of H and W hold for exactly the sizes at which the detector works, of 1 to 1000. Returns how many."""
    batch, _, height, width = dim_names(context)
    for varied, fixed in ((height, width), (width, height)):
        accepted = []
        for size in range(1, 1001):
            code, message = run(context.bin / "dlcb-inspect", context.bundle, "--eval", f"{batch}=1,{varied}={size},{fixed}=64")
            context.expect(code in (0, REFUSED), f"dlcb-inspect --eval: exit code {code}: {message}")
            if code == 0:
                accepted.append(size)
        wrong = sorted(set(accepted) ^ set(DETECTOR_SIDES))
        context.expect(not wrong, f"{varied}: accepted or refused wrongly: {wrong[:20]}")
    return len(DETECTOR_SIDES)
