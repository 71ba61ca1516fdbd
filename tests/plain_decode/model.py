"""model.py - the small model of tests/data/austen in double precision, as its README tells it."""
import json
import pathlib
import struct

import numpy as np


def read_safetensors(path):
    """The bf16 tensors of a file by name, as float64: a bf16 is the upper half of a float32."""
    data = pathlib.Path(path).read_bytes()
    (header_bytes,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + header_bytes])
    tensors = {}
    for name, entry in header.items():
        if entry.get("dtype") != "BF16":
            continue
        begin, end = (8 + header_bytes + offset for offset in entry["data_offsets"])
        bits = np.frombuffer(data[begin:end], "<u2").astype(np.uint32) << 16
        tensors[name] = bits.view(np.float32).astype(np.float64).reshape(entry["shape"])
    return tensors


class Model:
    """A folder with config.json and model.safetensors."""

    def __init__(self, folder):
        self.take_config(folder)
        self.weights = read_safetensors(pathlib.Path(folder) / "model.safetensors")

    def take_config(self, folder):
        self.config = json.loads((pathlib.Path(folder) / "config.json").read_text())
        self.mask, self.eos = self.config["mask_token_id"], self.config["eos_token_id"]
        self.vocab = self.config["vocab_size"]

    def weight(self, name):
        return self.weights[f"model.transformer.{name}.weight"]

    def norm(self, x, name):
        mean_square = np.mean(x * x, axis=-1, keepdims=True)
        return x / np.sqrt(mean_square + self.config["rms_norm_eps"]) * self.weight(name)

    def rotate(self, x):
        """RoPE with rotated halves: pair (i, i + half) of position t turns by t theta^(-i/half)."""
        half = x.shape[-1] // 2
        rate = self.config["rope_theta"] ** (-np.arange(half) / half)
        angle = np.arange(x.shape[1])[:, None] * rate
        low, high = x[..., :half], x[..., half:]
        cosine, sine = np.cos(angle), np.sin(angle)
        return np.concatenate([low * cosine - high * sine, high * cosine + low * sine], axis=-1)

    def attention(self, x, block):
        heads = self.config["n_heads"]
        length, width = x.shape

        def project(name):
            y = x @ self.weight(f"{block}.{name}").T
            return y.reshape(length, heads, width // heads).swapaxes(0, 1)

        query, key = self.rotate(project("q_proj")), self.rotate(project("k_proj"))
        scores = query @ key.swapaxes(1, 2) / np.sqrt(width // heads)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ project("v_proj")
        return mixed.swapaxes(0, 1).reshape(length, width) @ self.weight(f"{block}.attn_out").T

    def feed_forward(self, x, block):
        gate, up = (x @ self.weight(f"{block}.{name}").T for name in ("ff_proj", "up_proj"))
        return gate / (1 + np.exp(-gate)) * up @ self.weight(f"{block}.ff_out").T

    def hidden(self, ids):
        """(length, hidden): after the final norm."""
        x = self.weight("wte")[ids]
        for layer in range(self.config["n_layers"]):
            block = f"blocks.{layer}"
            x = x + self.attention(self.norm(x, f"{block}.attn_norm"), block)
            x = x + self.feed_forward(self.norm(x, f"{block}.ff_norm"), block)
        return self.norm(x, "ln_f")

    def logits(self, hidden):
        return hidden @ self.weight("ff_out").T
