"""The ten models: how each is compiled, the inputs it is tried with, and inputs that it must refuse.

Shapes and values come from a seed: every model is tried with batch 0 to 3 and with odd sizes. Keep the sizes small: the
simulator has to run them.
"""
import dataclasses
from typing import Callable

import numpy


@dataclasses.dataclass(frozen=True)
class Refused:
    """Shapes (or, for a scalar, a value) by input, and what the message must hold besides the shape itself."""

    inputs: dict
    where: str  # "input 'x' dim 2 is 33"
    needed: str  # part of the constraint
    node: str = ""  # a model node; none where the model declares the size


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    feeds: Callable  # generator -> list of {input: array}, at least six
    refused: list
    arguments: tuple = ()  # for dlcbc
    tap: str = ""  # the tensor before a saturating last operator, compared as well


def pictures(rng, n, height, width):
    """White noise mixed with a smooth field, in unlike shares."""
    share = rng.uniform(0.1, 0.9, (n, 1, 1, 1))
    coarse = rng.standard_normal((n, 3, 5, 5))
    rows, columns = (numpy.minimum(numpy.arange(size) * 5 // size, 4) for size in (height, width))
    smooth = coarse[:, :, rows][:, :, :, columns]
    return (share * rng.standard_normal((n, 3, height, width)) + (1.2 - share) * smooth).astype(numpy.float32)


def batches(rng, more=2):
    """0, 1, 2, 3 and odd ones."""
    return [0, 1, 2, 3, *(2 * rng.integers(2, 5, more) + 1)]


def odd(rng, low, high):
    return int(rng.integers(low // 2, high // 2)) * 2 + 1


# The detector halves its input five times and adds the halves up again: only these sizes come out even.
DETECTOR_SIDES = [n for n in range(1, 1001) if n % 32 in (0, 29, 30, 31) or n <= 4]


def detector(rng):
    sides = [n for n in DETECTOR_SIDES if 29 <= n <= 128]
    shapes = [(n, *rng.choice(sides, 2)) for n in (0, 1, 2, 3, 1)] + [(1, rng.integers(1, 5), rng.choice(sides))]
    return [{"x": pictures(rng, *map(int, shape))} for shape in shapes]


def recogniser(rng):
    shapes = [(n, 48, odd(rng, 17, 160)) for n in (0, 1, 2, 3, 1, 5)] + [(1, odd(rng, 17, 80), odd(rng, 5, 100))]
    return [{"x": pictures(rng, *shape)} for shape in shapes]


def classifier(rng):
    return [{"x": pictures(rng, n, odd(rng, 1, 60), odd(rng, 1, 200))} for n in batches(rng)]


def magika(rng):
    return [{"bytes": rng.integers(0, 257, (n, 2048)).astype(numpy.int32)} for n in batches(rng)]


def voice(rng):
    feeds = []
    for n, rate in zip(batches(rng), (16000, 8000, 16000, 16000, 8000, 16000)):
        samples = odd(rng, 192, 1200) if rate == 16000 else odd(rng, 96, 600)
        feeds.append({
            "input": (0.2 * rng.standard_normal((n, samples))).astype(numpy.float32),
            "sr": numpy.array(rate, numpy.int64),
            "state": rng.standard_normal((2, n, 128)).astype(numpy.float32),
        })
    return feeds


def embedding(rng):
    return [{"input_1": rng.standard_normal((n, 76, 32, 1)).astype(numpy.float32)} for n in batches(rng)]


def sentences(rng):
    feeds = []
    for n, length in zip(batches(rng), (8, 1, odd(rng, 3, 40), odd(rng, 3, 60), odd(rng, 3, 30), odd(rng, 3, 20))):
        mask = (numpy.arange(length) < rng.integers(1, length + 1, (n, 1))).astype(numpy.int64)
        feeds.append({"input_ids": rng.integers(0, 30522, (n, length)), "attention_mask": mask})
    return feeds


def photographs(rng):
    return [{"x": pictures(rng, n, odd(rng, 32, 130), odd(rng, 32, 130))} for n in (0, 1, 2, 3, 1, 5)]


def patches(rng):
    return [{"x": pictures(rng, n, 224, 224)} for n in (0, 1, 2, 3, 4, 5)]


CHANNELS = Refused({"x": (1, 4, 64, 64)}, "input 'x' dim 1 is 4", "3 is needed")

MODELS = [
    Model("rapidocr_det", detector, [
        CHANNELS,
        Refused({"x": (1, 3, 33, 64)}, "input 'x' dim 2 is 33", "% 32 in {0, 29, 30, 31}", "Add 'p2o.Add.252'"),
        Refused({"x": (2, 3, 64, 5)}, "input 'x' dim 3 is 5", "% 32 in {0, 29, 30, 31}", "Add 'p2o.Add.252'"),
    ], tap="p2o.Add.281"),
    Model("rapidocr_rec", recogniser, [
        CHANNELS,
        Refused({"x": (1, 3, 81, 64)}, "input 'x' dim 2 is 81", "1 <= x.2 <= 80", "Reshape 'p2o.Reshape.79'"),
    ]),
    Model("rapidocr_cls", classifier, [
        CHANNELS,
        Refused({"x": (1, 3, 0, 64)}, "input 'x' dim 2 is 0", ">= 1", "Conv 'Conv@0'"),
    ]),
    Model("magika", magika, [Refused({"bytes": (1, 2047)}, "input 'bytes' dim 1 is 2047", "2048 is needed")]),
    Model("silero_vad", voice, [
        Refused({"input": (1, 95), "sr": 8000, "state": (2, 1, 128)}, "input 'input' dim 1 is 95", "sequence >= 96 if sr != 16000",
                "Conv 'node_Conv_28'"),
        Refused({"input": (2, 576), "sr": 16000, "state": (2, 1, 128)}, "input 'state' dim 1 is 1", "2 is needed"),
    ]),
    Model("oww_embedding", embedding, [
        Refused({"input_1": (1, 152, 32, 1)}, "input 'input_1' dim 1 is 152", "76 is needed"),
    ]),
    Model("minilm", sentences, [
        Refused({"input_ids": (1, 513), "attention_mask": (1, 513)}, "input 'input_ids' dim 1 is 513",
                "1 <= sequence <= 512 is needed", "Expand 'node_expand_1'"),
        Refused({"input_ids": (2, 0), "attention_mask": (2, 0)}, "input 'input_ids' dim 1 is 0",
                "1 <= sequence <= 512 is needed", "Reshape 'node_Reshape_90'"),
        Refused({"input_ids": (2, 7), "attention_mask": (2, 8)}, "input 'attention_mask' dim 1 is 8", "7 is needed"),
    ]),
    Model("resnet50", photographs, [
        CHANNELS,
        Refused({"x": (1, 3, 0, 64)}, "input 'x' dim 2 is 0", "height >= 1", "Conv"),
    ]),
    Model("mobilenet_v3_large", photographs, [
        CHANNELS,
        Refused({"x": (1, 3, 64, 0)}, "input 'x' dim 3 is 0", "width >= 1", "Conv"),
    ]),
    Model("vit_b_16", patches, [Refused({"x": (1, 3, 225, 224)}, "input 'x' dim 2 is 225", "224 is needed")]),
]
