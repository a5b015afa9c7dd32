"""Regions of a map: nested groups of items that lie together, their names, and which neighbours
change with few codes.

Places are grouped by k-means into small groups and these by Ward's method, cut at three sizes. A
region is named by the words of the codes' names that fit its items (genius/explore/word_fits.py)
and set it apart. The best pair of region and word is taken first, and each word names one region of
a size, one of its parts besides if it is of the largest size. A region for which no word is left is
named by two words that others have, if no other region has both.

Shapes: m items, r regions, g small groups, w words.
"""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.cluster.vq import kmeans2
from scipy.sparse import csr_matrix
from scipy.spatial import cKDTree

from genius.explore.code_profile import Profiles
from genius.explore.map_data import Moved, Region
from genius.explore.playing import typical_rows
from genius.explore.word_fits import largest, spread
from genius.schema import Modality

SIZES = (14, 90, 400)  # regions of each size
LEAST = (60, 16, 10)  # items a region, on average
SMALL = 1_200  # groups that regions are made of
MIN_SHARE = (0.12, 0.25, 0.3)  # of the items of a region that a word of its name fits, by size
MIN_FITS = 5  # items that a word of a name fits
NAME_WORDS = (2, 1, 1)  # of a name, by size; a second one where the first fits less than half
SAMPLE = 400  # items of a region among which its portrait is sought
NEIGHBORS = 15  # of an item, for what moved
MOST_MOVED = 8
JITTER = 1e-4  # keeps apart what shares a place; a map is 2 wide


def named_regions(
    profiles: Profiles, rows: np.ndarray, places: np.ndarray, words: set[str], seed: int
) -> tuple[tuple[Region, ...], np.ndarray]:
    """Items' rows (m,) and places (m, 2) -> the regions, and the smallest one of each item (m,).

    words: those that names may have.
    """
    fits = profiles.words.of(rows)
    allowed = np.array([word in words for word in profiles.words.words])
    regions: list[Region] = []
    # of each item: its region of the size before, and that of the largest size
    parent_of = top_of = np.full(len(rows), -1)
    taken: dict[int, list[int]] = {}  # word -> regions that have it
    for tier, groups in enumerate(nested_groups(places, seed)):
        sizes = np.bincount(groups)
        _, some = np.unique(groups, return_index=True)  # an item of each group
        chosen = _choose_words(profiles, fits, groups, allowed, tier, top_of[some].tolist(), taken)
        order = np.argsort(-sizes, kind="stable")
        numbers = len(regions) + np.argsort(order)
        for group in order.tolist():
            members = np.flatnonzero(groups == group)
            best = chosen[group]
            for word in best:
                taken.setdefault(word, []).append(len(regions))
            parent = int(parent_of[members[0]]) if tier else None
            named = tuple(profiles.words.words[word] for word in best)
            covered = int((fits[members][:, best].sum(1) > 0).sum()) if best else 0
            portrait = portrait_of(profiles, rows[members], tier)
            regions.append(Region(tier, parent, named, len(members), covered, portrait))
        parent_of = numbers[groups]
        top_of = top_of if tier else parent_of
    return tuple(regions), parent_of


def nested_groups(places: np.ndarray, seed: int) -> list[np.ndarray]:
    """(m,) group of each item, for each size; a group of one size lies in one of the size
    before.
    """
    counts = [
        max(1, min(most, len(places) // least)) for most, least in zip(SIZES, LEAST, strict=True)
    ]
    small = min(SMALL, max(counts[-1], len(places) // 5))
    centers, member = kmeans2(
        places.astype(np.float64), small, minit="++", seed=seed, iter=20, missing="warn"
    )
    used, member = np.unique(member, return_inverse=True)
    if len(used) < 2:
        return [np.zeros(len(places), dtype=np.int64)] * len(counts)
    tree = linkage(centers[used], "ward")
    groups = [fcluster(tree, count, "maxclust")[member] for count in counts]
    return [np.unique(group, return_inverse=True)[1] for group in groups]


def _choose_words(
    profiles: Profiles,
    fits: csr_matrix,
    groups: np.ndarray,
    allowed: np.ndarray,
    tier: int,
    tops: list[int],
    taken: dict[int, list[int]],
) -> list[list[int]]:
    """The words of each group, best pair of group and word first.

    tops: the region of the largest size that each group lies in, −1 for those of that size. Only
    this one may have had a word before.
    """
    sizes = np.bincount(groups)
    member = csr_matrix(
        (np.ones(len(groups)), (groups, np.arange(len(groups)))), shape=(len(sizes), len(groups))
    )
    counts = (member @ fits).toarray()  # (r, w)
    weights = profiles.words.weights(counts, sizes[:, None]) * allowed
    weights[counts < np.maximum(MIN_FITS, MIN_SHARE[tier] * sizes[:, None])] = 0
    chosen: list[list[int]] = [[] for _ in sizes]
    used: set[int] = set()
    for place in largest(weights.ravel(), weights.size):
        group, word = divmod(place, weights.shape[1])
        have = chosen[group]
        half = have and counts[group, have[0]] >= sizes[group] / 2
        full = len(have) >= NAME_WORDS[0] or (have and (NAME_WORDS[tier] == 1 and half))
        if full or word in used or any(owner != tops[group] for owner in taken.get(word, [])):
            continue
        have.append(word)
        used.add(word)
    pairs = {frozenset(words) for words in chosen}
    for group in np.flatnonzero([not words for words in chosen]).tolist():
        two = largest(weights[group], 2)
        if len(two) == 2 and frozenset(two) not in pairs:
            chosen[group] = two
            pairs.add(frozenset(two))
    return chosen


def portrait_of(profiles: Profiles, rows: np.ndarray, tier: int) -> str:
    """The id of the picture nearest to the mean of a region, of items' rows (·,), of the two larger
    sizes; empty if it has none.
    """
    pictured = rows[profiles.index.modalities[rows] == Modality.IMAGE]
    if tier > 1 or not len(pictured):
        return ""
    (row,) = typical_rows(profiles, spread(pictured, SAMPLE), 1)
    (item,) = profiles.index.items([row])
    return item.id


def moved_regions(
    regions: tuple[Region, ...], region_of: np.ndarray, places: np.ndarray, view: int
) -> tuple[Moved, ...]:
    """The named regions of middle size most of whose items' neighbours are of other regions than in
    the first view.

    region_of (m,): the smallest region of each item. places (views, m, 2).
    """
    if not view:
        return ()
    middle = np.array(
        [number if region.tier < 2 else region.parent for number, region in enumerate(regions)]
    )[region_of]
    before, after = (neighbors_by_region(places[at], middle, len(regions)) for at in (0, view))
    moved = []
    for number, region in enumerate(regions):
        if region.tier == 1 and region.words:
            change = after[number] - before[number]
            change[[other for other, one in enumerate(regions) if not one.words]] = 0
            change[number] = 0
            left, joined = int(change.argmin()), int(change.argmax())
            share = float(np.abs(after[number] - before[number]).sum() / 2)
            moved.append(
                Moved(
                    number,
                    round(share, 3),
                    left if change[left] < 0 else None,
                    joined if change[joined] > 0 else None,
                )
            )
    return tuple(sorted(moved, key=lambda one: -one.share)[:MOST_MOVED])


def neighbors_by_region(places: np.ndarray, region: np.ndarray, regions: int) -> np.ndarray:
    """(r, r) of the neighbours of a region's items, the share that lies in each region: places
    (m, 2), region (m,) of each item.
    """
    apart = places + np.random.default_rng(0).normal(0, JITTER, places.shape)
    near = cKDTree(apart).query(apart, min(NEIGHBORS + 1, len(places)))[1][:, 1:]
    pairs = np.repeat(region, near.shape[1]) * regions + region[near].ravel()
    shares = np.bincount(pairs, minlength=regions**2).reshape(regions, regions).astype(float)
    return shares / np.maximum(shares.sum(1, keepdims=True), 1)
