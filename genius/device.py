"""Which processor to compute on."""

from __future__ import annotations

import time
from functools import cache

import torch

from genius.errors import UserError


def usable_device(name: str | None) -> torch.device:
    """The named device, or a GPU if there is one. Raises UserError if it cannot be used."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"device {name!r} cannot be used ({str(error).splitlines()[0]}); "
                        "leave it out, or name cpu or cuda") from None
    return device


@cache
def bf16_pays(device: torch.device) -> bool:
    """Whether this processor multiplies matrices of a decoder's sizes faster in bf16: measured, in a few ms."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()

    def milliseconds(dtype: torch.dtype) -> float:
        rows, weights = torch.ones(256, 512, dtype=dtype), torch.ones(512, 2048, dtype=dtype)
        spent = []
        for _ in range(5):
            start = time.perf_counter()
            rows @ weights
            spent.append(time.perf_counter() - start)
        return min(spent)

    return milliseconds(torch.bfloat16) < 0.8 * milliseconds(torch.float32)
