"""A LLaDA model in torch with the layout of the published one: names, shapes, call.

model(ids).logits, model.model.transformer.ff_out and the names of the weights are those of
GSAI-ML/LLaDA-8B, so what runs on this model runs on the real one, and its safetensors load here.
"""

import json
import pathlib
import types
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass(frozen=True)
class LladaConfig:
    """Sizes, by the names of config.json. The defaults are LLaDA-8B's."""

    vocab_size: int = 126464
    hidden_size: int = 4096
    n_layers: int = 32
    n_heads: int = 32
    mlp_hidden_size: int = 12288
    rope_theta: float = 500000.0
    rms_norm_eps: float = 1e-5
    mask_token_id: int = 126336

    @classmethod
    def load(cls, folder):
        values = json.loads(pathlib.Path(folder, "config.json").read_text(encoding="utf-8"))
        return cls(**{name: values[name] for name in cls.__dataclass_fields__})


class Block(nn.Module):
    """Attention over all positions, then SwiGLU."""

    def __init__(self, config):
        super().__init__()
        width, inner = config.hidden_size, config.mlp_hidden_size
        self.heads = config.n_heads
        self.attn_norm = nn.RMSNorm(width, config.rms_norm_eps)
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, width, bias=False)
        self.v_proj = nn.Linear(width, width, bias=False)
        self.attn_out = nn.Linear(width, width, bias=False)
        self.ff_norm = nn.RMSNorm(width, config.rms_norm_eps)
        self.ff_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.ff_out = nn.Linear(inner, width, bias=False)

    def forward(self, x, cosine, sine):
        batch, length, width = x.shape
        normed = self.attn_norm(x)
        q, k, v = (
            project(normed).view(batch, length, self.heads, -1).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        seen = F.scaled_dot_product_attention(rotate(q, cosine, sine), rotate(k, cosine, sine), v)
        x = x + self.attn_out(seen.transpose(1, 2).reshape(batch, length, width))
        normed = self.ff_norm(x)
        return x + self.ff_out(F.silu(self.ff_proj(normed)) * self.up_proj(normed))


def rotate(x, cosine, sine):
    """RoPE in fp32 with the halves of a head as pairs."""
    low, high = x.float().chunk(2, dim=-1)
    return torch.cat((low * cosine - high * sine, high * cosine + low * sine), dim=-1).to(x.dtype)


class Trunk(nn.Module):
    """model.model of the published one."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(config.vocab_size, config.hidden_size),
                "blocks": nn.ModuleList(Block(config) for _ in range(config.n_layers)),
                "ln_f": nn.RMSNorm(config.hidden_size, config.rms_norm_eps),
                "ff_out": nn.Linear(config.hidden_size, config.vocab_size, bias=False),
            }
        )

    def forward(self, ids):
        x = self.transformer.wte(ids)
        cosine, sine = self.angles(ids.shape[1], ids.device)
        for block in self.transformer.blocks:
            x = block(x, cosine, sine)
        return self.transformer.ff_out(self.transformer.ln_f(x))

    def angles(self, length, device):
        half = self.config.hidden_size // self.config.n_heads // 2
        powers = torch.arange(half, device=device, dtype=torch.float32) / half
        angles = torch.outer(
            torch.arange(length, device=device, dtype=torch.float32),
            self.config.rope_theta**-powers,
        )
        return angles.cos(), angles.sin()


class LladaModel(nn.Module):
    """What AutoModel.from_pretrained gives, as far as decoding asks of it."""

    def __init__(self, config):
        super().__init__()
        self.model = Trunk(config)

    def forward(self, ids):
        return types.SimpleNamespace(logits=self.model(ids))

    @classmethod
    def load(cls, folder, dtype=torch.float32, device="cpu"):
        """Weights of FOLDER/model.safetensors."""
        with torch.device("meta"):
            model = cls(LladaConfig.load(folder))
        model.load_state_dict(
            read_safetensors(pathlib.Path(folder, "model.safetensors")), assign=True
        )
        return model.to(device, dtype).requires_grad_(False)

    @classmethod
    def random(cls, config, dtype, device, seed=0, logit_deviation=4.0):
        """Random weights for measuring: activations stay in range, logits get a wanted spread."""
        with torch.device("meta"):
            model = cls(config)
        model = model.to(dtype).to_empty(device=device).requires_grad_(False)
        generator = torch.Generator(device).manual_seed(seed)
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                weight.fill_(1)
            elif name.startswith("model.transformer.ff_out"):
                weight.normal_(0, logit_deviation * config.hidden_size**-0.5, generator=generator)
            else:
                weight.normal_(0, weight.shape[-1] ** -0.5, generator=generator)
        return model


def read_safetensors(path):
    """Tensors by name: an 8-byte length, a JSON table, then their bytes."""
    types_by_name = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32}
    data = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = torch.frombuffer(
                memoryview(data)[start + begin : start + end], dtype=types_by_name[entry["dtype"]]
            ).view(entry["shape"])
    return tensors
