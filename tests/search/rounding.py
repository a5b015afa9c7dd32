"""Which results no rounding can change, and results that are equal up to rounding, which depends on the batch."""

import numpy as np

from genius.schema import SearchOptions, SearchResult

MARGIN = 1e-4  # scores and cosines that are closer may change places


def traced(options: SearchOptions) -> SearchOptions:
    """Options of the search whose result `is_clear` reads: one result more, and every level."""
    return SearchOptions(beams=options.beams, k=options.k + 1, mode=options.mode, order=options.order, trace=True)


def is_clear(result: SearchResult, reranked: bool) -> bool:
    """No beam was kept, and no hit ranked, by less than the margin."""
    gaps = [-np.diff(level.score) for level in result.trace]
    if reranked:  # of the beams only the last kept one and the first of the others must be apart
        gaps = [gap[level.kept.sum() - 1 :][:1] for gap, level in zip(gaps, result.trace, strict=True)]
        gaps.append(-np.diff([hit.cosine for hit in result.hits]))
    return np.concatenate(gaps).min() > MARGIN
