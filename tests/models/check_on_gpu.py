#!/usr/bin/env python3
"""What ships, on a machine with a GPU: the programs, threads and graphs of the C interface, and every refusal.

usage: check_on_gpu.py --build DIR MODEL.onnx    the text direction classifier: input x [N, 3, H, W], two outputs a picture

Needs torch (bench/dlcb.py calls the C interface on its tensors) and onnx. Prints a line a check; exit code 1 when one failed.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import dlcb
import kernels

TIMEOUT_S = 120
SHAPES = ((1, 3, 48, 192), (5, 3, 31, 77), (3, 3, 48, 100))
LARGE = (256, 3, 48, 2000)  # needs about 0.8 GB between its layers
MARGIN = 600 << 20  # of memory left when it is tried
LIMIT = (1 << 31) - (1 << 16)  # elements of a tensor


def error_at_ends(model, reference, shapes):
    """Relative norm of the error at the beginning, in the middle and at the end of the result."""
    x, *rest = [torch.randn(shape, device="cuda", dtype=torch.float16) for shape in shapes]
    got, = model(x, *rest)
    step, middle, worst = max(1, x.shape[0] // 64), x.shape[0] // 2, 0.0
    for part in (slice(0, step), slice(middle, middle + step), slice(x.shape[0] - step, None)):
        want = reference(x[part].double(), *[t.double() for t in rest])
        worst = max(worst, float((got[part].double() - want).norm() / want.norm()))
    return worst


class Checks:
    """Each public method is a check; it raises AssertionError with what was wrong."""

    def __init__(self, build, model, folder):
        self.bin, self.library, self.model, self.folder = build / "bin", str(build / "lib/libdlcb.so"), model, folder
        self.bundle = folder / "model.dlcb"
        done = self.run("dlcbc", model, "-o", self.bundle, "--quiet")
        assert done.returncode == 0, done.stderr

    def run(self, program, *arguments, **environment):
        command = [str(self.bin / program), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=os.environ | environment)

    def refused(self, code, words, bundle=None, *arguments, shape="2,3,48,192"):
        done = self.run("dlcb-run", bundle or self.bundle, "--device", "cuda", "--input", f"x=random[{shape}]", *arguments)
        assert done.returncode == code, f"exit code {done.returncode}, not {code}: {done.stderr}"
        assert all(word in done.stderr for word in words), f"{words} are not all in: {done.stderr}"
        return done.stderr.splitlines()[0]

    def load(self, **options):
        return dlcb.Model(str(self.bundle), self.library, allow_tf32_conv=0, **options)

    def bench_times_calls(self):
        done = self.run("dlcb-run", self.bundle, "--device", "cuda", "--input", "x=random[2,3,48,192]", "--bench", 50, "--json")
        assert done.returncode == 0, done.stderr
        bench = json.loads(done.stdout)["bench"]
        assert 0 < bench["min"] <= bench["p50"] <= bench["max"] and bench["back_to_back"] > 0, bench
        return f"{bench['p50'] * 1e6:.0f} us a call, {bench['back_to_back'] * 1e6:.0f} us back to back"

    def examples_say_what_the_simulator_says(self):
        on_gpu = self.run("example_explained", self.bundle, "cuda", "x=2x3x48x192")
        simulated = self.run("example_explained", self.bundle, "sim", "x=2x3x48x192")
        assert on_gpu.returncode == simulated.returncode == 0, on_gpu.stderr + simulated.stderr
        split = lambda text: [line.split(" = ") for line in text.splitlines()]
        for ours, theirs in zip(split(on_gpu.stdout), split(simulated.stdout), strict=True):
            assert ours[0] == theirs[0], (ours, theirs)
            assert len(ours) == 1 or abs(float(ours[1].split()[0]) - float(theirs[1].split()[0])) < 1e-4, (ours, theirs)
        terse = self.run("example_terse", self.bundle, 2, 3, 48, 192)
        assert terse.stdout == "2 2\n", terse.stdout + terse.stderr

    def guards_are_checked(self):
        return self.refused(4, ("input 'x' dim 1 is 4", "3 is needed"), shape="2,4,48,192")

    def a_refused_call_leaves_the_context_usable(self):
        model = self.load()
        x = torch.randn(*SHAPES[0], device="cuda")
        before = model(x)[0].clone()
        try:
            model(torch.randn(1, 4, 48, 192, device="cuda"))
            raise AssertionError("was taken")
        except dlcb.Refused:
            pass
        assert torch.equal(model(x)[0], before)
        model.close()

    def damaged_bundles_are_refused(self):
        whole, damaged = self.bundle.read_bytes(), self.folder / "damaged.dlcb"
        said = set()
        for place in range(40):
            bytes_ = bytearray(whole)
            bytes_[len(whole) * place // 40 + 7] ^= 0x55
            damaged.write_bytes(bytes_)
            done = self.run("dlcb-run", damaged, "--device", "cuda", "--input", "x=random[2,3,48,192]")
            assert done.returncode in (0, 3), f"exit code {done.returncode}: {done.stderr}"  # 0: between the entries
            said.add(done.returncode)
        assert 3 in said
        damaged.write_bytes(whole[: len(whole) // 2])
        return self.refused(3, ("not a usable bundle",), damaged)

    def a_device_that_is_not_there_is_refused(self):
        return self.refused(2, ("no CUDA device 99: there are",), None, "--device-index", 99)

    def code_for_other_devices_is_refused(self):
        major, minor = torch.cuda.get_device_capability()
        others = ["sm_80", "sm_120"] if major == 9 else ["sm_90"]
        bundle = self.folder / "other.dlcb"
        assert self.run("dlcbc", self.model, "-o", bundle, "--target", ",".join(others), "--quiet").returncode == 0
        said = self.refused(6, (f"is sm_{major}{minor}; the bundle has code for {', '.join(others)}",), bundle)
        done = self.run("dlcb-run", bundle, "--device", "auto", "--input", "x=random[2,3,48,192]")
        assert done.returncode == 0 and "using the simulator" in done.stderr, done.stderr
        return said

    def too_little_memory_is_refused(self):
        model, x = self.load(), torch.randn(*LARGE, device="cuda")
        free, _ = torch.cuda.mem_get_info()
        filled = torch.empty(free - MARGIN, dtype=torch.uint8, device="cuda")
        try:
            model(x)
            raise AssertionError("was taken")
        except dlcb.Refused as error:
            said = str(error)
        assert "memory" in said, said
        self.refused(6, ("memory",), shape=",".join(map(str, LARGE)))
        del filled
        torch.cuda.empty_cache()
        assert bool(torch.isfinite(model(x)[0]).all())  # the context has taken no harm
        model.close()
        return said

    def tensors_just_below_the_limit_are_right(self):
        kernels.BYTES, worst = 2 * (LIMIT - 1), 0
        for name, (build, _, sizes) in kernels.CASES.items():
            build(f"{self.folder / name}.onnx", "f16")
            assert self.run("dlcbc", f"{self.folder / name}.onnx", "-o", f"{self.folder / name}.dlcb", "--quiet").returncode == 0
            model = dlcb.Model(f"{self.folder / name}.dlcb", self.library)
            for label, shapes in sizes.items():
                error = error_at_ends(model, kernels.CASES[name][1], shapes(2))
                torch.cuda.empty_cache()
                assert error < 2e-3, f"{name} {label} {shapes(2)}: error {error:.1e}"
                worst = max(worst, error)
            model.close()
        model = dlcb.Model(f"{self.folder / 'softmax'}.dlcb", self.library)
        try:
            model(torch.empty(LIMIT // 64, 64, device="cuda", dtype=torch.float16))
            raise AssertionError("a tensor of the limit was taken")
        except dlcb.Refused as error:
            assert "fewer than 2^31 - 2^16 elements" in str(error), error
        model.close()
        return f"worst error {worst:.1e}"

    def stand_ins_serve_where_libraries_are_broken(self):
        broken, bundle = self.folder / "broken", self.folder / "alone.dlcb"
        broken.mkdir()
        for name in ("libcudnn.so.9", "libcudnn.so", "libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"):
            (broken / name).write_bytes(b"")
        path = {"LD_LIBRARY_PATH": f"{broken}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        flags = ("--device", "cuda", "--tf32", "off", "--input", "x=random[2,3,48,192]")
        assert self.run("dlcbc", self.model, "-o", bundle, "--stand-ins", "--quiet").returncode == 0
        done = self.run("dlcb-run", bundle, *flags, "--output", self.folder / "whole", "--json")
        output = json.loads(done.stdout)["outputs"][0]
        wanted = f"{output['name']}=@{output['file']}"
        done = self.run("dlcb-run", bundle, *flags, "--expect", wanted, "--rel-norm", 1e-4, **path)
        assert done.returncode == 0, done.stdout + done.stderr
        done = self.run("dlcb-run", self.bundle, *flags, **path)
        assert done.returncode == 6 and "dlcbc --stand-ins" in done.stderr, done.stderr
        return done.stderr.splitlines()[0]

    def threads_share_a_model(self):
        model = self.load()
        inputs = [torch.randn(*SHAPES[i % len(SHAPES)], device="cuda") for i in range(8)]
        wanted = [model(x)[0].clone() for x in inputs]
        torch.cuda.synchronize()
        wrong = []

        def calls(index):
            context, stream = model.another(), torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for i in range(100):
                    k = (index + i) % len(inputs)
                    got = context(inputs[k])[0]
                    if not torch.allclose(got, wanted[k], rtol=1e-5, atol=1e-6):
                        wrong.append(f"call {i} of thread {index}")
            stream.synchronize()
            context.close()

        def work(index):
            try:
                calls(index)
            except RuntimeError as error:
                wrong.append(str(error))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong, wrong[:5]
        model.close()

    def a_second_device_serves_too(self):
        if torch.cuda.device_count() < 2:
            return "not checked, there is one"
        self.refused(4, ("3 is needed",), None, "--device-index", 1, shape="2,4,48,192")
        done = self.run("dlcb-run", self.bundle, "--device", "cuda", "--device-index", 1, "--input", "x=random[2,3,48,192]", "--bench", 20)
        assert done.returncode == 0, done.stderr
        models = [self.load(), self.load(device_index=1)]
        for i in range(30):
            x = torch.randn(*SHAPES[i % 3])
            outputs = []
            for index, model in enumerate(models):
                with torch.cuda.device(index):
                    outputs.append(model(x.cuda())[0].cpu())
            assert torch.allclose(*outputs, rtol=1e-5, atol=1e-6), f"call {i}"
        try:
            models[1](torch.randn(*SHAPES[0], device="cuda:0"))
            raise AssertionError("a tensor of another device was taken")
        except dlcb.Refused as error:
            said = str(error)
        assert "on CUDA device 0, but the model was loaded on 1" in said, said
        for model in models:
            model.close()

    def graphs_follow_shapes_and_addresses(self):
        graphs, direct = self.load(graph_cache_entries=4), self.load(use_graphs=0)
        pools = [[torch.empty(shape, device="cuda") for _ in range(3)] for shape in SHAPES]
        for i in range(240):
            x = pools[i % 3][(i // 5) % 3]  # shapes alternate, addresses return now and then, values always change
            x.normal_()
            got, want = graphs(x)[0], direct(x)[0]
            assert torch.allclose(got, want, rtol=1e-5, atol=1e-6), f"call {i}"
        bound = [graphs.bind(pool[0]) for pool in pools]  # fixed addresses: captured and replayed
        for i in range(60):
            x, (run, outputs) = pools[i % 3][0], bound[i % 3]
            x.normal_()
            run()
            assert torch.allclose(outputs[0], direct(x)[0], rtol=1e-5, atol=1e-6), f"replay {i}"
        graphs.close()
        direct.close()

    def many_shapes_take_turns(self):
        """More library plans than are kept, and as many graphs as shapes."""
        graphs, direct = self.load(graph_cache_entries=64), self.load(use_graphs=0)
        inputs = [torch.randn(1 + i % 4, 3, 20 + i, 60 + 3 * i, device="cuda") for i in range(40)]
        bound = [graphs.bind(x) for x in inputs]
        for i in range(4 * len(inputs)):
            x, (run, outputs) = inputs[i % len(inputs)], bound[i % len(inputs)]
            x.normal_()
            run()
            assert torch.allclose(outputs[0], direct(x)[0], rtol=1e-5, atol=1e-6), f"call {i}"
        graphs.close()
        direct.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="folder that holds bin/ and lib/libdlcb.so")
    parser.add_argument("model", type=pathlib.Path)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(options.build, options.model, pathlib.Path(folder))
        helpers = ("run", "refused", "load")
        for name in [n for n in vars(Checks) if not n.startswith("_") and n not in helpers]:
            try:
                said = getattr(checks, name)()
                print(f"ok   {name.replace('_', ' ')}" + (f": {said}" if said else ""), flush=True)
            except (AssertionError, dlcb.Refused, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAIL {name.replace('_', ' ')}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
