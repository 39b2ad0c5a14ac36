"""Writes docs/models.md from what was measured."""
import datetime
import json
import os
import pathlib
import platform

HEAD = """# Models

Written by `tests/models/check_models.py --write-docs docs/models.md`; `scripts/make-models` fetches and exports the models.
Compile time: wall, cold cache, `-j2`, from process start to the bundle on disk, the median of three.
Error: relative L2 norm of the difference from onnxruntime with its optimisations off, the worst of all shapes and outputs, on
the simulator; noise: how far onnxruntime with optimisations is from itself without. Limit: 1e-3, or three times the noise where
that is above 3e-4; the text detector's last operator is a sigmoid that turns rounding into noise on pictures without text, so
the tensor before it is compared too, by 1e-3.
Besides the guards listed, every model checks that each tensor and each kernel's loop has fewer than 2^31 - 2^16 elements.
"""


GPU = """
## On a GPU

{title}
(`bench/results/{file}`, made by `check_models.py --device cuda --results FILE`).
The shapes are those below, each run with TF32 off and on (for convolutions and matrix products). TF32's noise: how far
onnxruntime's result moves when the operands of its products are rounded to TF32. Limits: 1e-3 and 1e-2, or three times the
noise where that is more.

"""


def megabytes(count):
    return f"{count / 1e6:.2f}"


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def summary(reports):
    rows = []
    for name, report in reports.items():
        build, numbers = report["build"], [row for row in report["numbers"] if "error" in row]
        cost = [f"{build['seconds']:.2f}", megabytes(build["weight_bytes"]), megabytes(build["bundle_bytes"]),
                f"{build['peak_bytes'] / 1e6:.0f}"]
        steps = [f"{build['kernels']} ({build['entry_points']})", build["library_calls"]]
        worst = [f"{max(row[key] for row in numbers):.1e}" for key in ("error", "noise")]
        rows.append([name, *cost, *steps, len(numbers), *worst])
    return table(["model", "compile s", "weights MB", "bundle MB", "peak MB", "kernel launches (entry points)",
                  "library calls", "shapes", "worst error", "noise"], rows)


def section(name, report):
    build = report["build"]
    text = f"\n## {name}\n\n"
    text += "".join(f"- in `{line}`\n" for line in build["inputs"]) + "".join(f"- out `{line}`\n" for line in build["outputs"])
    text += "- checked before every run:\n" + "".join(f"  - `{guard}`\n" for guard in build["guards"])
    text += "- refused, for example:\n" + "".join(f"  - {message.split(': ', 1)[-1]}\n" for message in report["refusals"])
    if "sides" in report:
        text += f"- of the sizes 1 to 1000, H and W are accepted for exactly the {report['sides']} at which the model works\n"
    rows = []
    for row in report["numbers"]:
        numbers = [f"{row[key]:.1e}" if key in row else "" for key in ("error", "noise", "before")]
        rows.append([row["where"], *(numbers if row["compared"] else ["onnxruntime does not take it", "", ""])])
    header = ["inputs", "error", "noise", "before the last operator"]
    if not any(row[3] for row in rows):
        header, rows = header[:3], [row[:3] for row in rows]
    return text + "\n" + table(header, rows)


RESULTS = pathlib.Path(__file__).resolve().parents[2] / "bench/results"


def on_gpu():
    """The newest numbers from a GPU that are kept."""
    files = sorted(RESULTS.glob("*-numbers.json"))
    if not files:
        return ""
    record = json.loads(files[-1].read_text())
    rows = []
    for name, numbers in record["models"].items():
        compared = [row for row in numbers if "error" in row and "tf32" in row]
        keys = ["error", "noise"] + (["before"] if "before" in compared[0] else [])
        modes = (compared, [row["tf32"] for row in compared])
        worst = [max(row[key] for row in mode) for key in keys for mode in modes]
        rows.append([name, len(compared), *(f"{value:.1e}" for value in worst)])
    title = f"{record['device']}, driver {record['driver']}, onnxruntime {record['onnxruntime']}, {record['date']}"
    title += f"; {record['note']}" if record["note"] else ""
    header = ["model", "shapes", "worst error", "with TF32", "noise", "TF32's noise", "before the last operator", "with TF32"]
    rows = [row + [""] * (len(header) - len(row)) for row in rows]
    return GPU.format(title=title, file=files[-1].name) + table(header, rows)


def write(path, reports):
    machine = f"\nMeasured on {datetime.date.today()}, {os.cpu_count()} cores, {platform.machine()}.\n\n"
    path.write_text(HEAD + machine + summary(reports) + on_gpu() + "".join(section(name, report) for name, report in reports.items()))
