"""From a query to results: beam search over valid IDs, re-ranking, dense baselines, and the
engine.
"""
