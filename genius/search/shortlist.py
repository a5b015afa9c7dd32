"""What mode fast re-ranks of the items below its beams: those whose quantized vectors are nearest.

A fast search stops at prefixes, and all codes below them are known. So the codes that were not decoded cost a few
additions an item instead of a step of the decoder, and none of them can be discarded too early. Figures: README.md.

Shapes: b queries, w beams, t candidates of all queries together, n items of the index, d dim.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from genius.search.beam_state import Beams
from genius.search.candidates import BLOCK, MAX_CANDIDATES, Candidates, positions_in_lists
from genius.search.codewords import Codewords
from genius.trie.ids import IDTable
from genius.trie.pool import Pool
from genius.trie.trie import expand_on_device

DEVICE_BLOCK = 1 << 17  # candidates whose quantized vectors are in a GPU's memory at once: 0.4 GB at d = 768


@torch.inference_mode()
def shortlist(
    candidates: Candidates, table: IDTable, codewords: Codewords, norms: np.ndarray, features: Tensor, at_most: int
) -> Candidates:
    """The `at_most` candidates of each query whose quantized vectors are nearest to its features, nearest first.

    table: the one that numbers the candidates' IDs. norms (n,): ‖ẑ‖² by row of the index, NaN where not known; those
    of the candidates are added, since they are most of the work: at d = 768, 12 ms for 2,000 items. features (b, d)
    fused. Equal distances keep the order of the candidates.
    """
    products = codewords.products(features)
    nearness = np.empty(len(candidates.row), dtype=np.float32)  # 2⟨z, ẑ⟩ − ‖ẑ‖²
    for first in range(0, len(nearness), BLOCK):
        part = slice(first, first + BLOCK)
        numbers = codewords.numbers(table, candidates.id[part])
        query = torch.from_numpy(candidates.query[part]).to(numbers.device)
        inner = products.take(numbers + query[:, None] * products.shape[1]).sum(1)
        rows = candidates.row[part]
        new = np.flatnonzero(np.isnan(norms[rows]))
        norms[rows[new]] = codewords.sums(numbers[torch.from_numpy(new)]).square().sum(1).cpu().numpy()
        nearness[part] = inner.cpu().numpy() - norms[rows]
    order = np.lexsort((candidates.generated_rank, -nearness, candidates.query))
    place = positions_in_lists(candidates.counts)
    chosen, place = order[place < at_most], place[place < at_most]
    return Candidates(
        candidates.query[chosen],
        candidates.row[chosen],
        candidates.id[chosen],
        candidates.beam[chosen],
        candidates.score[chosen],
        place + 1,
        np.minimum(candidates.counts, at_most),
    )


@torch.inference_mode()
def shortlist_on_device(beams: Beams, pool: Pool, codewords: Codewords, features: Tensor, at_most: int) -> Candidates:
    """`shortlist` of all items below the beams, computed where the trie is: for GPUs.

    Only the result is copied to the CPU. Norms are not kept but computed in every search.
    """
    low, width = beams.low, beams.low.shape[1]  # (b, w)
    items = beams.high - low
    sizes = items.minimum((MAX_CANDIDATES - (items.cumsum(1) - items)).clamp_(min=0))  # as expand_beams takes them
    beam, position = expand_on_device(low.flatten(), sizes.flatten())  # (t,)
    query, products = beam // width, codewords.products(features)
    offsets = torch.from_numpy(codewords.offsets).to(position.device)
    nearness = torch.empty(len(position), device=position.device)  # 2⟨z, ẑ⟩ − ‖ẑ‖²
    for first in range(0, len(position), DEVICE_BLOCK):
        part = slice(first, first + DEVICE_BLOCK)
        numbers = pool.trie.codes(position[part]) + offsets
        inner = products.take(numbers + query[part, None] * products.shape[1]).sum(1)
        nearness[part] = inner - codewords.sums(numbers).square().sum(1)
    order = nearness.argsort(descending=True, stable=True)
    order = order[query[order].argsort(stable=True)]
    counts = sizes.sum(1)
    place = torch.arange(len(query), device=query.device) - (counts.cumsum(0) - counts)[query]
    chosen = order[place < at_most]
    query, beam, position, score, place, counts = (
        values.cpu().numpy()
        for values in (
            query[chosen],
            beam[chosen],
            position[chosen],
            beams.scores.flatten()[beam[chosen]],
            place[place < at_most],
            counts.clamp(max=at_most),
        )
    )
    return Candidates(
        query, pool.table.rows[position].astype(np.int64), pool.table.ids_of(position), beam, score, place + 1, counts
    )
