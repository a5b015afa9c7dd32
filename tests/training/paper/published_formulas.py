"""What the published models compute, in float64 numpy, written from the formulas and not from the
package's models.

Weights are those of a checkpoint, by their published names.

Shapes: b things, d dim of the shared space, n tokens or patches, w width, M levels, N prefix
length, V tokens of T5.
"""

import numpy as np
from torch import Tensor

START, SPECIAL, MODALITIES = 0, 3, 3


class Formulas:
    """A checkpoint's weights in float64, converted when they are asked for."""

    def __init__(self, weights: dict[str, Tensor], prefix: str = ""):
        self._weights, self._prefix = weights, prefix

    def __call__(self, name: str) -> np.ndarray:
        return self._weights[self._prefix + name].double().numpy()

    def below(self, prefix: str) -> "Formulas":
        return Formulas(self._weights, self._prefix + prefix)

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self(f"{name}.weight").T + self(f"{name}.bias")


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def normalised(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def heads_of(x: np.ndarray, heads: int) -> np.ndarray:
    """(n, heads · a) -> (heads, n, a)."""
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


# CLIP (OpenAI's, with QuickGELU)


def layer_norm(w: Formulas, x: np.ndarray, name: str) -> np.ndarray:
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * w(f"{name}.weight") + w(
        f"{name}.bias"
    )


def clip_transformer(w: Formulas, x: np.ndarray, layers: int, causal: bool) -> np.ndarray:
    """(n, w) -> (n, w); heads are 64 wide."""
    heads = x.shape[-1] // 64
    mask = np.triu(np.full((len(x), len(x)), -np.inf), 1) if causal else 0.0
    for block in (w.below(f"resblocks.{layer}.") for layer in range(layers)):
        q, k, v = (
            heads_of(part, heads)
            for part in np.split(
                layer_norm(block, x, "ln_1") @ block("attn.in_proj_weight").T
                + block("attn.in_proj_bias"),
                3,
                axis=-1,
            )
        )
        seen = softmax(q @ k.transpose(0, 2, 1) / 8.0 + mask) @ v
        x = x + block.linear(seen.transpose(1, 0, 2).reshape(x.shape), "attn.out_proj")
        hidden = block.linear(layer_norm(block, x, "ln_2"), "mlp.c_fc")
        x = x + block.linear(hidden * sigmoid(1.702 * hidden), "mlp.c_proj")
    return x


def image_feature(w: Formulas, pixels: np.ndarray, layers: int) -> np.ndarray:
    """(3, s, s) pixels -> (d,)."""
    kernel = w("visual.conv1.weight")
    patch = kernel.shape[-1]
    grid = pixels.shape[-1] // patch
    patches = (
        pixels.reshape(3, grid, patch, grid, patch)
        .transpose(1, 3, 0, 2, 4)
        .reshape(grid * grid, -1)
    )
    x = np.concatenate(
        [w("visual.class_embedding")[None], patches @ kernel.reshape(len(kernel), -1).T]
    )
    x = layer_norm(w, x + w("visual.positional_embedding"), "visual.ln_pre")
    x = clip_transformer(w.below("visual.transformer."), x, layers, causal=False)
    return layer_norm(w, x[0], "visual.ln_post") @ w("visual.proj")


def text_feature(w: Formulas, tokens: np.ndarray, layers: int) -> np.ndarray:
    """(n,) tokens -> (d,), read at the end token, which has the highest number."""
    x = w("token_embedding.weight")[tokens] + w("positional_embedding")[: len(tokens)]
    x = clip_transformer(w.below("transformer."), x, layers, causal=True)
    return layer_norm(w, x[tokens.argmax()], "ln_final") @ w("text_projection")


# Fusion and residual quantization


def fused(w: Formulas, image: np.ndarray, text: np.ndarray) -> np.ndarray:
    """Features (b, d), zero where something is missing -> z (b, d)."""
    both = np.concatenate(
        [
            np.maximum(w.linear(text, "encoder.text_projection_layer"), 0),
            np.maximum(w.linear(image, "encoder.image_projection_layer"), 0),
        ],
        axis=-1,
    )
    mixed = w.linear(
        np.maximum(w.linear(both, "encoder.combiner_layer"), 0), "encoder.output_layer"
    )
    share = sigmoid(
        w.linear(
            np.maximum(w.linear(both, "encoder.dynamic_scalar.0"), 0), "encoder.dynamic_scalar.3"
        )
    )
    return normalised(mixed + share * text + (1 - share) * image)


def quantized(w: Formulas, z: np.ndarray, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """z (b, d) -> codes (b, M), and by how much the nearest codeword is nearer than the next (b,
    M).
    """
    codes, margins = [], []
    for level in range(levels):
        book = w(f"residual_rq.layers.{level}._codebook.embed")[0]
        distances = np.stack([np.linalg.norm(book - residual, axis=-1) for residual in z])
        nearest = np.sort(distances, axis=-1)
        codes.append(distances.argmin(-1))
        margins.append(nearest[:, 1] - nearest[:, 0])
        z = z - book[codes[-1]]
    return np.stack(codes, -1), np.stack(margins, -1)


# The T5 decoder over its prefix


def rms_norm(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * gain


def prefix_embeddings(w: Formulas, z: np.ndarray) -> np.ndarray:
    """z (d,) -> (N, w), after the final norm of an encoder without layers."""
    gain = w("id_generator.encoder.final_layer_norm.weight")
    return rms_norm(w.linear(z, "embed_projector.0").reshape(-1, len(gain)), gain)


def tokens_of(codes: np.ndarray, per_level: int) -> np.ndarray:
    """Codes (M,) -> T5's tokens: three special ones, three of modality, then those of each level in
    turn.
    """
    offsets = [SPECIAL] + [
        SPECIAL + MODALITIES + level * per_level for level in range(len(codes) - 1)
    ]
    return codes + np.array(offsets)


def log_probabilities(
    w: Formulas, z: np.ndarray, codes: np.ndarray, per_level: int, layers: int
) -> np.ndarray:
    """Of every token at every step, given the codes (M,) before it -> (M, V)."""
    memory = prefix_embeddings(w, z)
    shared = w("id_generator.shared.weight")
    tokens = np.concatenate([[START], tokens_of(codes, per_level)[:-1]])
    # (32, heads)
    bias = w("id_generator.decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
    back = np.arange(len(tokens))[:, None] - np.arange(len(tokens))
    assert back.max() < 16, "below 16, a bucket is a distance"
    position = np.where(back < 0, -np.inf, bias[np.maximum(back, 0)].transpose(2, 0, 1))
    x = shared[tokens]
    for block in (w.below(f"id_generator.decoder.block.{layer}.layer.") for layer in range(layers)):
        for number, kind in ((0, "SelfAttention"), (1, "EncDecAttention")):
            inner = block.below(f"{number}.")
            own = rms_norm(x, inner("layer_norm.weight"))
            read = memory if number else own
            q, k, v = (
                heads_of(values @ inner(f"{kind}.{name}.weight").T, bias.shape[1])
                for name, values in (("q", own), ("k", read), ("v", read))
            )
            seen = softmax(q @ k.transpose(0, 2, 1) + (0.0 if number else position)) @ v  # unscaled
            x = x + seen.transpose(1, 0, 2).reshape(len(x), -1) @ inner(f"{kind}.o.weight").T
        own = rms_norm(x, block("2.layer_norm.weight"))
        x = (
            x
            + np.maximum(own @ block("2.DenseReluDense.wi.weight").T, 0)
            @ block("2.DenseReluDense.wo.weight").T
        )
    x = rms_norm(x, w("id_generator.decoder.final_layer_norm.weight")) * shared.shape[1] ** -0.5
    logits = x @ shared.T
    most = logits.max(-1, keepdims=True)
    return logits - most - np.log(np.exp(logits - most).sum(-1, keepdims=True))
