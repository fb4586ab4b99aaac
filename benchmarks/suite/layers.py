"""Layers of real networks as kernels of the suite: ResNet-50, MobileNet, BERT-base, a small LLM.

`nn_conv1x1_b8` is of a batch of 8. The LLM has the sizes of Qwen2-0.5B; its batch is of tokens.
"""

from __future__ import annotations

from benchmarks.suite.case import KERNELS, Case
from schedsearch.peers.arrays import Fill

# Of both signs, as activations and weights are: else gelu and silu would only see large values.
_SIGNED = Fill(-1.0, 1.0)
_WEIGHT = Fill(-0.05, 0.05)
_LINEAR = {"x": _SIGNED, "w": _WEIGHT, "bias": _WEIGHT}


def _layer(
    file: str,
    name: str,
    sizes: dict[str, int],
    fills: dict[str, Fill] | None = None,
    batches: tuple[int, ...] = (1, 8),
    numpy: bool = True,
) -> tuple[Case, ...]:
    """The layer for each batch; `numpy` has a natural form of it."""
    return tuple(
        Case(
            name=f"nn_{name}_b{batch}",
            file=KERNELS / "layers" / f"{file}.py",
            proc=f"nn_{name}",
            form=f"nn_{name}",
            sizes=(("B", batch), *sizes.items()),
            fills=tuple((fills or {}).items()),
            without=("numba",) if numpy else ("numba", "numpy"),
            specialize=True,
            group="layers",
        )
        for batch in batches
    )


def _convolution(
    name: str, pixels: int, channels: dict[str, int], numpy: bool = False
) -> tuple[Case, ...]:
    sizes = {"H": pixels, "W": pixels, **channels}
    fills = {"inp": _SIGNED, "w": _WEIGHT, "bias": _WEIGHT}
    return _layer("convolutions", name, sizes, fills, numpy=numpy)


def _linear_gelu(batch: int, tokens: int) -> tuple[Case, ...]:
    sizes = {"S": tokens, "D": 768, "E": 3072}
    return _layer("transformers", "linear_gelu", sizes, _LINEAR, (batch,))


_TOKENS = (1, 64)
_PROJECTION = {"S": 128, "D": 768, "E": 768}
_HEADS = {"H": 12, "S": 128}
_MLP = {"D": 896, "E": 4864}
_SWIGLU = {"x": _SIGNED, "gate": _WEIGHT, "up": _WEIGHT, "down": _WEIGHT}

LAYERS: tuple[Case, ...] = (
    *_convolution("conv3x3_bias_relu", 56, {"CI": 64, "CO": 64}),
    *_convolution("conv3x3_stride2", 28, {"CI": 128, "CO": 128}),
    *_convolution("conv1x1", 56, {"CI": 64, "CO": 256}, numpy=True),
    *_convolution("conv1x1_stride2", 28, {"CI": 256, "CO": 512}, numpy=True),
    *_convolution("conv7x7_stride2", 112, {"CI": 3, "CO": 64}),
    *_convolution("depthwise3x3", 112, {"C": 32}),
    *_convolution("depthwise3x3_stride2", 56, {"C": 64}),
    *_layer("transformers", "linear", _PROJECTION, _LINEAR),
    *_layer("transformers", "attention", _HEADS, {"Q": _SIGNED, "K": _SIGNED, "V": _SIGNED}),
    *_layer("transformers", "layernorm", {"S": 128}, {"x": _SIGNED}),
    *_linear_gelu(1, 128),
    # Half the tokens: as written a call stays near a second.
    *_linear_gelu(8, 64),
    *_layer("transformers", "rmsnorm", {}, {"x": _SIGNED}, _TOKENS),
    *_layer("transformers", "swiglu", _MLP, _SWIGLU, _TOKENS),
)
