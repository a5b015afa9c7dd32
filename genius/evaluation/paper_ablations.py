"""The figures of the paper's ablations and comparisons of identifiers, as printed: hit rates at 5 in percent.

Tables 4 and 5 are the paper's, S3 to S7 its supplement's. A row is named as it is here.
"""

from __future__ import annotations

from genius.evaluation.paper import MSCOCO, OTHERWISE_IN_TABLE_3, PUBLISHED_CAPTIONS

COLUMNS = ((0, "mscoco"), (3, "mscoco"), (1, "webqa"), (2, "webqa"), (7, "cirr"))  # M-BEIR task and dataset
CAPTION_TO_IMAGE = (0, "mscoco")

FULL = "GENIUS"
DECODER_SIZES = {"T5-small": 30, "T5-base": 110, "T5-large": 400}  # millions of parameters
QUERIES_PER_SECOND = {30: 19.6, 50: 11.9}  # by beams (supplement, C.3), on one RTX 3090

ABLATIONS: dict[str, dict[str, tuple[float, ...]]] = {
    "4": {
        FULL: (55.4, 82.7, 28.3, 47.1, 20.5),
        "w/o modality-decoupled": (20.2, 73.2, 25.9, 34.3, 18.3),
        "w/o query augmentation": (47.8, 67.7, 19.6, 38.8, 11.7),
        "w/o L_cl": (0.0, 0.1, 0.0, 0.0, 0.0),
        "w/o L_mse": (45.5, 83.1, 27.1, 35.2, 21.6),
    },
    "5": {
        "4096 × 9": (65.3, 83.4, 28.8, 47.4, 21.0),
        "4096 × 7": (65.2, 82.9, 25.3, 40.8, 23.1),
        "4096 × 5": (62.4, 81.5, 17.3, 33.1, 20.4),
        "1024 × 9": (66.4, 82.0, 24.7, 39.4, 24.5),
        "256 × 9": (61.2, 76.6, 18.3, 33.5, 18.3),
        "1024 × 7": (64.3, 82.2, 24.6, 42.7, 16.4),
        "256 × 5": (53.4, 72.4, 9.7, 22.8, 13.0),
    },
    "S3": {
        "modality-decoupled": (55.4, 82.7, 28.3, 47.1, 20.5),
        "classifier": (48.9, 79.2, 25.7, 37.5, 20.3),
        "RQ w/o modality code": (20.2, 73.2, 25.9, 34.3, 18.3),
    },
    "S4": {
        "1 beam": (24.2, 41.6, 5.1, 10.4, 4.9),
        "5 beams": (55.6, 79.1, 15.9, 32.3, 18.0),
        "10 beams": (62.8, 82.8, 22.4, 40.0, 20.4),
        "20 beams": (66.5, 83.7, 28.3, 45.1, 21.1),
        "30 beams": (65.3, 83.4, 28.8, 47.4, 21.0),
        "50 beams": (68.2, 83.3, 32.8, 50.0, 21.0),
    },
    "S5": {
        "T5-small": (65.3, 83.4, 28.8, 47.4, 21.0),
        "T5-base": (67.9, 83.5, 31.6, 48.0, 18.3),
        "T5-large": (67.2, 83.2, 32.4, 50.4, 7.1),
    },
    "S6": {
        "4096 × 9": (65.3, 83.4, 28.8, 47.4, 21.0),
        "8192 × 17": (59.5, 81.8, 30.6, 44.8, 26.5),
        "4096 × 9, shared": (18.6, 19.3, 0.2, 1.7, 3.3),
    },
}

RIVALS = {  # method, trained on MSCOCO -> Recall@1, 5, 10 of captions → images on it (Table S7)
    line.method: line.rates
    for line in PUBLISHED_CAPTIONS
    if line.of == line.trained == MSCOCO and line.method != OTHERWISE_IN_TABLE_3
}
