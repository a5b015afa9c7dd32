"""The paper's ablations: its tables, their variants as changes of a run's settings, and the published figures.

A variant is named as in the paper. It shares encoder and features with the run, and fusion and quantizer with every
variant whose settings of them are equal. The encoders of Tables S8 and S9 are variants, too; only they are trained.

Published figures are hit rates at 5 in percent, as printed; tables with S are those of the supplement.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from genius.errors import UserError
from genius.evaluation.paper import MSCOCO, OTHERWISE_IN_TABLE_3, PUBLISHED_CAPTIONS, ROWS, TABLE_8, TABLE_9, PaperTable
from training.checkpoint import fingerprint
from training.settings import Settings, with_stage_changes

FULL = "GENIUS"
BEAMS = 30  # of the paper's ablations
PATCH = 16  # side of the squares that BLIP's image tower sees as tokens where CLIP's has none, pixels
BLIP_LARGE = {  # BLIP with ViT-L/16, as in UniIR, which reads 224 pixels and 100 tokens
    "embed_dim": 768,
    "blip": True,
    "vision_cfg": {"image_size": 224, "patch_size": PATCH, "width": 1024, "layers": 24, "heads": 16},
    "text_cfg": {"context_length": 100, "vocab_size": 30_524, "width": 768, "layers": 12, "heads": 12},
}
BASE = (  # of every variant: the paper's decoder, no loss of our own, and the last epoch, so that all are treated alike
    "quantizer.keep_best=false",
    "decoder.patience=0",
    "decoder.keep_best=false",
    "decoder.decoder.geometry=false",
    "decoder.self_queries=false",
    "decoder.decoder_weights=[1.0]",
)

Changes = Callable[[Settings], tuple[str, ...]]  # the settings of the run -> what changes, as --set takes it


class PaperColumn(NamedTuple):
    """A column of a table."""

    task: int  # of M-BEIR
    dataset: str
    cut: int = 0  # k of the hit rate; 0: the usual one of the dataset

    @property
    def row(self) -> tuple[int, str]:
        return self.task, self.dataset


def search_name(scope: str, beams: int, reranked: bool) -> str:
    """How queries are searched; beams: 0 for dense search by the encoder."""
    return f"{scope}, {beams} beams{', re-ranked' * reranked}" if beams else f"{scope}, dense"


@dataclass(frozen=True)
class Training:
    """What is trained for a variant."""

    settings: Settings
    scheme: str  # in place of fusion and quantizer, one of id_schemes.SCHEMES; empty: none
    encoder: bool  # an encoder alone

    @property
    def ids(self) -> str:
        """Checksum of what makes the IDs; trainings with the same one share them."""
        if self.encoder:
            return fingerprint(self.settings.encoder)
        quantizer = self.settings.quantizer
        return fingerprint(self.scheme, quantizer.quantizer if self.scheme else quantizer)

    @property
    def key(self) -> str:
        """Checksum of all that is trained."""
        return self.ids if self.encoder else fingerprint(self.ids, self.settings.decoder)


def unchanged(base: Settings) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Variant:
    """A row of a table."""

    name: str
    published: tuple[float | None, ...]  # by column; empty: the paper has no such row
    changes: Changes = unchanged
    scheme: str = ""
    beams: int = BEAMS  # 0: dense search by the encoder
    reranked: bool = False

    def training(self, base: Settings) -> Training:
        """base: the settings of a run with BASE. The decoder's sizes follow the quantizer's."""
        settings = with_stage_changes(base, *self.changes(base))
        quantizer, decoder = settings.quantizer.quantizer, settings.decoder.decoder
        sizes = quantizer.code_sizes if quantizer.modality_code == "none" else ()
        decoder = replace(decoder, levels=quantizer.levels, codebook_size=quantizer.codebook_size, sizes=sizes)
        settings = replace(settings, decoder=replace(settings.decoder, decoder=decoder))
        settings.check()
        return Training(settings, self.scheme, encoder=not self.beams)


@dataclass(frozen=True)
class AblationTable:
    """A table of the paper."""

    number: str  # 4, S3, …
    title: str
    scope: str  # of the pool: "global" or "local"
    variants: tuple[Variant, ...]
    columns: tuple[PaperColumn, ...]

    @property
    def name(self) -> str:
        """S3 -> Supplement, Table 3."""
        return f"Supplement, Table {self.number[1:]}" if self.number.startswith("S") else f"Table {self.number}"


def change(*changes: str) -> Changes:
    """The same changes of any run."""
    return lambda base: changes


def grid(codes: int, levels: int, *further: str) -> Changes:
    """The paper's K × M: K is the same share of the run's as of 4096, as are the M − 1 levels after the first of 8."""

    def changes(base: Settings) -> tuple[str, ...]:
        size, after_first = base.quantizer.quantizer.codebook_size, base.quantizer.quantizer.levels - 1
        return (
            f"quantizer.quantizer.codebook_size={max(2, size * codes // 4096)}",
            f"quantizer.quantizer.levels={1 + max(1, round(after_first * (levels - 1) / 8))}",
            *further,
        )

    return changes


def larger_decoder(layers: int, widths: float) -> Changes:
    """The run's decoder in place of T5-small, made this many times larger, as T5-base and T5-large are."""
    factors = {"layers": layers, "width": widths, "ff_width": widths, "heads": widths}

    def changes(base: Settings) -> tuple[str, ...]:
        sizes = {name: int(getattr(base.decoder.decoder, name) * factor) for name, factor in factors.items()}
        return tuple(f"decoder.decoder.{name}={size}" for name, size in sizes.items())

    return changes


def blip(base: Settings) -> tuple[str, ...]:
    """BLIP as large as the run's CLIP: the published one for a name of open_clip, else in its text tower's sizes."""
    architecture, clip = BLIP_LARGE, base.encoder.architecture
    if not isinstance(clip, str):
        text, vision = clip["text_cfg"], clip["vision_cfg"]
        sizes = {name: text[name] for name in ("width", "layers", "heads")}
        architecture = {
            "embed_dim": clip["embed_dim"],
            "blip": True,
            "vision_cfg": sizes | {"image_size": vision["image_size"], "patch_size": vision.get("patch_size", PATCH)},
            "text_cfg": sizes | {name: text[name] for name in ("context_length", "vocab_size")},
        }
    return f"encoder.architecture={json.dumps(architecture)}", "encoder.pretrained="


FUSED = "encoder.fusion=feature"
ENCODERS: dict[str, Changes] = {
    "CLIP-SF": unchanged,
    "CLIP-FF": change(FUSED),
    "BLIP-SF": blip,
    "BLIP-FF": lambda base: (*blip(base), FUSED),
}


def encoder_variants(table: PaperTable) -> tuple[Variant, ...]:
    """The encoders of one of the supplement's retrieval tables."""
    return tuple(
        Variant(name, tuple(table.figures[row][table.systems.index(name)] for row in ROWS), changes, beams=0)
        for name, changes in ENCODERS.items()
        if name in table.systems
    )


FIVE = tuple(PaperColumn(*row) for row in ((0, "mscoco"), (3, "mscoco"), (1, "webqa"), (2, "webqa"), (7, "cirr")))
ALL = tuple(PaperColumn(*row) for row in ROWS)
CAPTIONS = tuple(PaperColumn(0, "mscoco", cut) for cut in (1, 5, 10))
COUNTERPARTS = tuple(dict.fromkeys(column.row for column in (*FIVE, *ALL)))  # in the order in which they are chosen

FULL_GLOBAL, FULL_LOCAL = (55.4, 82.7, 28.3, 47.1, 20.5), (65.3, 83.4, 28.8, 47.4, 21.0)
WITHOUT_MODALITY = (20.2, 73.2, 25.9, 34.3, 18.3), change("quantizer.quantizer.modality_code=none")
WITHOUT_AUGMENTATION = change("decoder.augmentation=none")
COMPONENTS = (
    Variant(FULL, FULL_GLOBAL),
    Variant("w/o modality-decoupled", *WITHOUT_MODALITY),
    Variant("w/o query augmentation", (47.8, 67.7, 19.6, 38.8, 11.7), WITHOUT_AUGMENTATION),
    Variant("w/o L_cl", (0.0, 0.1, 0.0, 0.0, 0.0), change("quantizer.contrastive_weight=0")),
    Variant("w/o L_mse", (45.5, 83.1, 27.1, 35.2, 21.6), change("quantizer.mse_weight=0")),
)
GRID = (
    Variant("4096 × 9", FULL_LOCAL, grid(4096, 9)),
    Variant("4096 × 7", (65.2, 82.9, 25.3, 40.8, 23.1), grid(4096, 7)),
    Variant("4096 × 5", (62.4, 81.5, 17.3, 33.1, 20.4), grid(4096, 5)),
    Variant("1024 × 9", (66.4, 82.0, 24.7, 39.4, 24.5), grid(1024, 9)),
    Variant("256 × 9", (61.2, 76.6, 18.3, 33.5, 18.3), grid(256, 9)),
    Variant("1024 × 7", (64.3, 82.2, 24.6, 42.7, 16.4), grid(1024, 7)),
    Variant("256 × 5", (53.4, 72.4, 9.7, 22.8, 13.0), grid(256, 5)),
)
MODALITY = "quantizer.quantizer.modality_code"
FIRST_CODES = (
    Variant("modality-decoupled", FULL_GLOBAL, change(f"{MODALITY}=emergent")),  # as in the published code
    Variant("modality-decoupled, forced", (), change(f"{MODALITY}=forced")),  # as in the paper's text
    Variant("classifier", (48.9, 79.2, 25.7, 37.5, 20.3), change(f"{MODALITY}=classifier")),
    Variant("RQ w/o modality code", *WITHOUT_MODALITY),
)
BEAM_SIZES = (
    Variant("1 beam", (24.2, 41.6, 5.1, 10.4, 4.9), beams=1),
    Variant("5 beams", (55.6, 79.1, 15.9, 32.3, 18.0), beams=5),
    Variant("10 beams", (62.8, 82.8, 22.4, 40.0, 20.4), beams=10),
    Variant("20 beams", (66.5, 83.7, 28.3, 45.1, 21.1), beams=20),
    Variant("30 beams", FULL_LOCAL, beams=30),
    Variant("50 beams", (68.2, 83.3, 32.8, 50.0, 21.0), beams=50),
)
DECODER_SIZES = (
    Variant("T5-small", FULL_LOCAL),
    Variant("T5-base", (67.9, 83.5, 31.6, 48.0, 18.3), larger_decoder(2, 1.5)),
    Variant("T5-large", (67.2, 83.2, 32.4, 50.4, 7.1), larger_decoder(4, 2)),
)
SHARED = "quantizer.quantizer.shared=true"
LARGE_AND_SHARED = (
    Variant("4096 × 9", FULL_LOCAL, grid(4096, 9)),
    Variant("8192 × 17", (59.5, 81.8, 30.6, 44.8, 26.5), grid(8192, 17)),
    Variant("4096 × 9, shared", (18.6, 19.3, 0.2, 1.7, 3.3), grid(4096, 9, SHARED)),
)
CAPTION_RATES = {
    line.method: line.rates
    for line in PUBLISHED_CAPTIONS
    if line.of == line.trained == MSCOCO and line.method != OTHERWISE_IN_TABLE_3
}
IDENTIFIERS = (
    Variant("GRACE, numeric", CAPTION_RATES["GRACE, numeric"], WITHOUT_AUGMENTATION, "numeric"),
    Variant("GRACE, string", CAPTION_RATES["GRACE, string"], WITHOUT_AUGMENTATION, "string"),
    Variant("GRACE, semantic", CAPTION_RATES["GRACE, semantic"], WITHOUT_AUGMENTATION, "semantic"),
    Variant("GRACE, structured", CAPTION_RATES["GRACE, structured"], WITHOUT_AUGMENTATION, "structured"),
    Variant("DSI/NCI, hierarchical k-means", (), WITHOUT_AUGMENTATION, "hierarchical"),
    Variant("IRGen", CAPTION_RATES["IRGen"], WITHOUT_AUGMENTATION, "residual"),
    Variant(FULL, CAPTION_RATES[FULL]),
    Variant(f"{FULL} + re-rank", CAPTION_RATES[f"{FULL} + re-rank"], reranked=True),
)
TABLES = {
    table.number: table
    for table in (
        AblationTable("4", "Key components", "global", COMPONENTS, FIVE),
        AblationTable("5", "Codebook size K × levels M", "local", GRID, FIVE),
        AblationTable("S3", "How an ID encodes modality", "global", FIRST_CODES, FIVE),
        AblationTable("S4", "Beam size", "local", BEAM_SIZES, FIVE),
        AblationTable("S5", "Decoder size", "local", DECODER_SIZES, FIVE),
        AblationTable("S6", "Large and shared codebooks", "local", LARGE_AND_SHARED, FIVE),
        AblationTable("S7", "Identifiers of other generative retrievers", "local", IDENTIFIERS, CAPTIONS),
        AblationTable("S8", "Encoders, local pools", "local", encoder_variants(TABLE_8), ALL),
        AblationTable("S9", "Encoders, global pools", "global", encoder_variants(TABLE_9), ALL),
    )
}
DEFAULT_TABLES = tuple(number for number in TABLES if number not in ("S8", "S9"))


def chosen_tables(numbers: Iterable[str]) -> list[AblationTable]:
    """Raises UserError for an unknown table."""
    numbers = list(numbers)
    if unknown := [number for number in numbers if number not in TABLES]:
        raise UserError(f"--tables: there is no table {unknown[0]!r}; choose from {', '.join(TABLES)}")
    return [TABLES[number] for number in numbers]


def trainings_of(tables: Iterable[AblationTable], base: Settings) -> dict[str, Training]:
    """The trainings of these tables by their keys. Raises UserError for encoders that cannot be compared."""
    variants = [variant for table in tables for variant in table.variants]
    if not all(variant.beams for variant in variants) and (base.encoder.image_tower or base.encoder.locked.enabled):
        raise UserError(
            "every encoder of tables S8 and S9 is trained as a whole, and BLIP has the sizes of encoder.architecture; "
            "name a run without pretrained towers, such as those of preset small or paper"
        )
    return {training.key: training for training in (variant.training(base) for variant in variants)}
