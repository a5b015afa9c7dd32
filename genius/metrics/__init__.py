"""Metrics that training, evaluation and exploration share: hit rates, code health, information
about known factors.
"""
