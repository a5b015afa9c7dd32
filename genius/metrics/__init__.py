"""Measures that training, evaluation and exploration share: hit rates, code health, agreement with known factors."""
