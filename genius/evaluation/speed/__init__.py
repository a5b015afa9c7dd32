"""How fast generating IDs is, beside its floor, transformers' `generate` and dense search."""
