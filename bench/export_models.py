#!/usr/bin/env python3
"""Exports the models whose speed is compared, with dynamic dims, by torch.onnx (dynamo): export_models.py OUT [NAME ...]

resnet50, mobilenet_v3_large (batch, height, width), vit_b_16 (batch), minilm (batch, sequence; the architecture of
all-MiniLM-L6-v2 with seeded weights). Needs torch, torchvision, transformers, onnx, onnxscript.
"""
import sys
import warnings
from pathlib import Path

import torch

warnings.filterwarnings("ignore")


def calibrated(model, make_input):
    """Seeded weights whose activations keep a sane scale: batch norms take the statistics of one seeded batch."""
    for m in model.modules():
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
            m.momentum = None
            m.reset_running_stats()
    if any(isinstance(m, torch.nn.modules.batchnorm._BatchNorm) for m in model.modules()):
        model.train()
        with torch.no_grad():
            model(make_input())
    return model.eval()


def vision(name):
    import torchvision
    torch.manual_seed(0)
    model = getattr(torchvision.models, name)(weights=None)
    if name == "vit_b_16":
        torch.nn.init.normal_(model.heads[0].weight, std=0.05)
    return calibrated(model, lambda: torch.randn(8, 3, 128, 128)).eval()


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


def minilm():
    from transformers import BertConfig, BertModel
    torch.manual_seed(0)
    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, vocab_size=30522)
    return SentenceEncoder(BertModel(config, add_pooling_layer=False)).eval()


def build(name):
    """The torch module and one example input tuple, on the CPU."""
    if name == "minilm":
        ids = torch.randint(0, 30522, (2, 16))
        return minilm(), (ids, torch.ones_like(ids))
    return vision(name), (torch.randn(2, 3, 224, 224),)


NAMES = ("resnet50", "mobilenet_v3_large", "vit_b_16", "minilm")


def export(name, path):
    from torch.export import Dim
    model, example = build(name)
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
        torch.onnx.export(model, example, str(path), dynamo=True, external_data=False, dynamic_shapes=shapes, input_names=names,
                          output_names=outputs, verbose=False)


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for wanted in sys.argv[2:] or NAMES:
        export(wanted, out / f"{wanted}.onnx")
        print(out / f"{wanted}.onnx", flush=True)
