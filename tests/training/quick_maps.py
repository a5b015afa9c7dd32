"""Maps in a moment."""

from __future__ import annotations

import pytest

from training import umap_layout


def lay_out_by_principal_components(patch: pytest.MonkeyPatch) -> None:
    """Treat all vectors as the few that are laid out without UMAP, which compiles itself for many seconds."""
    patch.setattr(umap_layout, "MIN_VECTORS", 1_000_000)
