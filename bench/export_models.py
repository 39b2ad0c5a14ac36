#!/usr/bin/env python3
"""Exports the models from torch, with dynamic dims, by torch.onnx (dynamo): export_models.py OUT [--minilm FOLDER] [NAME ...]

resnet50, mobilenet_v3_large (batch, height, width) and vit_b_16 (batch) with seeded weights; minilm (batch, sequence) with
those of all-MiniLM-L6-v2 in FOLDER, or seeded ones without it. Needs torch, torchvision, transformers, onnx, onnxscript.
"""
import argparse
import os
import warnings
from pathlib import Path

import torch

warnings.filterwarnings("ignore")


def enlivened(model):
    """Replaces parameters that are constant as initialised (norm gains 1, biases 0, a head of zeros) by seeded noise, so
    that every layer changes the result and the result depends on the input."""
    generator = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        data = parameter.data
        if data.numel() < 2 or data.min() != data.max():
            continue
        if data.flatten()[0] == 0:
            data.copy_(torch.randn(data.shape, generator=generator) * (0.1 if data.dim() == 1 else 0.05))
        else:
            data.mul_(0.7 + 0.6 * torch.rand(data.shape, generator=generator))
    return model


def calibrated(model, make_input):
    """Activations keep a sane scale: batch norms take the statistics of one seeded batch."""
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.momentum = None
        norm.reset_running_stats()
    if norms:
        for norm in norms:
            norm.train()
        with torch.no_grad():
            model(make_input())
    return model.eval()


def vision(name):
    import torchvision
    torch.manual_seed(0)
    model = enlivened(getattr(torchvision.models, name)(weights=None).eval())
    return calibrated(model, lambda: torch.randn(8, 3, 128, 128))


class SentenceEncoder(torch.nn.Module):
    """Mean pooling and normalisation behind the encoder, as sentence-transformers do."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids, attention_mask):
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        pooled = (states * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return states, torch.nn.functional.normalize(pooled, dim=1)


def minilm(weights=None):
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoModel, BertConfig, BertModel
    torch.manual_seed(0)
    if weights:
        return SentenceEncoder(AutoModel.from_pretrained(weights, dtype=torch.float32)).eval()
    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, vocab_size=30522)
    return SentenceEncoder(BertModel(config, add_pooling_layer=False)).eval()


def build(name, minilm_weights=None):
    """The torch module and one example input tuple, on the CPU."""
    if name == "minilm":
        ids = torch.randint(0, 30522, (2, 16))
        return minilm(minilm_weights), (ids, torch.ones_like(ids))
    return vision(name), (torch.randn(2, 3, 224, 224),)


NAMES = ("resnet50", "mobilenet_v3_large", "vit_b_16", "minilm")


def export(name, path, minilm_weights=None):
    from torch.export import Dim
    model, example = build(name, minilm_weights)
    batch = Dim("batch", min=1, max=4096)
    if name == "minilm":
        seq = Dim("sequence", min=2, max=512)
        shapes, names = ({0: batch, 1: seq}, {0: batch, 1: seq}), ["input_ids", "attention_mask"]
        outputs = ["last_hidden_state", "sentence_embedding"]
    else:
        dims = {0: batch}
        if name != "vit_b_16":
            dims |= {2: Dim("height", min=32, max=4096), 3: Dim("width", min=32, max=4096)}
        shapes, names, outputs = (dims,), ["x"], ["y"]
    with torch.no_grad():
        program = torch.onnx.export(model, example, dynamo=True, dynamic_shapes=shapes, input_names=names, output_names=outputs,
                                    verbose=False)
    for node in program.model.graph.all_nodes():
        node.metadata_props.clear()  # stack traces with this machine's paths
    program.save(str(path), external_data=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    parser.add_argument("--minilm", type=Path, help="folder with all-MiniLM-L6-v2's config.json and model.safetensors")
    options = parser.parse_intermixed_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        export(name, options.out / f"{name}.onnx", options.minilm)
        print(options.out / f"{name}.onnx", flush=True)


if __name__ == "__main__":
    main()
