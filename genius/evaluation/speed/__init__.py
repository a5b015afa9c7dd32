"""The speed of generating IDs, compared with its compute-bound minimum, `generate` of transformers
and dense search.
"""
