"""Which processor to compute on."""

from __future__ import annotations

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
