"""The paper's ablations: its tables, their variants as changes of a run's settings, and the
published figures.

A variant is named as in the paper. It shares encoder and features with the run, and fusion and
quantizer with every variant whose settings of them are equal. The encoders of Tables S8 and S9 are
variants, too; only they are trained.

    variants.tsv    the rows of the tables, with their hit rates at 5 in percent, as printed, and
                    their changes

Tables with S are those of the supplement; published figures of S7, S8 and S9 are those of
genius/evaluation/published.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from genius.errors import UserError
from genius.evaluation.paper import (
    MSCOCO,
    OTHERWISE_IN_TABLE_3,
    PUBLISHED_CAPTIONS,
    ROWS,
    TABLE_8,
    TABLE_9,
    read_published,
    recalls,
)
from training.checkpoint import fingerprint
from training.settings import Settings, with_stage_changes, with_values

FULL = "GENIUS"
BEAMS = 30  # of the paper's ablations
# side of the squares that BLIP's image tower sees as tokens where CLIP's has none, pixels
PATCH = 16
BLIP_LARGE = json.loads(
    Path(__file__).with_name("blip_large.json").read_text(encoding="utf-8")
)  # with ViT-L/16, as in UniIR


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


@dataclass(frozen=True)
class Variant:
    """A row of a table."""

    name: str
    published: tuple[float, ...]  # by column; empty: the paper has no such row
    changes: tuple[str, ...] = ()  # of the settings of the run, see `translated`
    scheme: str = ""
    beams: int = BEAMS  # 0: dense search by the encoder
    reranked: bool = False

    def training(self, base: Settings) -> Training:
        """base: the settings of a run with BASE. The decoder's sizes follow the quantizer's."""
        settings = with_stage_changes(
            base, *(each for change in self.changes for each in translated(change, base))
        )
        quantizer = settings.quantizer.quantizer
        sizes = quantizer.code_sizes if quantizer.modality_code == "none" else ()
        decoder = {
            "levels": quantizer.levels,
            "codebook_size": quantizer.codebook_size,
            "sizes": sizes,
        }
        settings = with_values(settings, {"decoder": {"decoder": decoder}})
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
        supplement = self.number.removeprefix("S")
        return f"{'Supplement, ' * (supplement != self.number)}Table {supplement}"


def translated(change: str, base: Settings) -> tuple[str, ...]:
    """A change of variants.tsv, as --set takes it. The paper's sizes become those of the run in
    proportion.

    K stands for 4096 codes as the run's own number, M − 1 levels after the first for 8. `layers`
    and `widths` are factors of the run's decoder, which stands for T5-small: those of T5-base and
    T5-large. `blip` is BLIP in place of the run's CLIP.
    """
    name, _, value = change.partition("=")
    quantizer, decoder = base.quantizer.quantizer, base.decoder.decoder
    if name == "K":
        codes = max(2, quantizer.codebook_size * int(value) // 4096)
        return (f"quantizer.quantizer.codebook_size={codes}",)
    if name == "M":
        after_first = round((quantizer.levels - 1) * (int(value) - 1) / 8)
        return (f"quantizer.quantizer.levels={1 + max(1, after_first)}",)
    if name in ("layers", "widths"):
        fields = ("layers",) if name == "layers" else ("width", "ff_width", "heads")
        return tuple(
            f"decoder.decoder.{field}={int(getattr(decoder, field) * float(value))}"
            for field in fields
        )
    if name == "blip":
        return (
            f"encoder.architecture={json.dumps(blip(base.encoder.architecture))}",
            "encoder.pretrained=",
        )
    return (change,)


def blip(clip: str | dict[str, Any]) -> dict[str, Any]:
    """BLIP as large as this CLIP: the published one for a name of open_clip, else in the sizes of
    its text tower.
    """
    if isinstance(clip, str):
        return BLIP_LARGE
    text, vision = clip["text_cfg"], clip["vision_cfg"]
    sizes = {name: text[name] for name in ("width", "layers", "heads")}
    return {
        "embed_dim": clip["embed_dim"],
        "blip": True,
        "vision_cfg": sizes
        | {"image_size": vision["image_size"], "patch_size": vision.get("patch_size", PATCH)},
        "text_cfg": sizes | {name: text[name] for name in ("context_length", "vocab_size")},
    }


def read_variants() -> dict[str, tuple[Variant, ...]]:
    """Number of a table -> its rows in variants.tsv."""
    captions = {
        line["method"]: recalls(line)
        for line in PUBLISHED_CAPTIONS
        if line["set"] == line["trained on"] == MSCOCO and line["method"] != OTHERWISE_IN_TABLE_3
    }
    elsewhere: dict[str, Mapping[str, Iterable[float | None]]] = {
        "S7": captions,
        "S8": TABLE_8.by_system(),
        "S9": TABLE_9.by_system(),
    }
    variants: dict[str, tuple[Variant, ...]] = {}
    for line in read_published(Path(__file__).with_name("variants.tsv")):
        table, name = line["table"], line["variant"]
        printed: Iterable[float | None] = (
            elsewhere[table].get(name, ())
            if table in elsewhere
            else map(float, line["published"].split())
        )
        variant = Variant(
            name,
            tuple(figure for figure in printed if figure is not None),  # none is missing
            tuple(line["changes"].split()),
            line["scheme"],
            int(line["beams"]),
            line["reranked"] == "yes",
        )
        variants[table] = (*variants.get(table, ()), variant)
    return variants


FIVE = tuple(
    PaperColumn(*row)
    for row in ((0, "mscoco"), (3, "mscoco"), (1, "webqa"), (2, "webqa"), (7, "cirr"))
)
ALL = tuple(PaperColumn(*row) for row in ROWS)
CAPTIONS = tuple(PaperColumn(0, "mscoco", cut) for cut in (1, 5, 10))
# in the order in which they are chosen
COUNTERPARTS = tuple(dict.fromkeys(column.row for column in (*FIVE, *ALL)))

VARIANTS = read_variants()
# of every variant: the paper's decoder, no loss of our own, and the last epoch, so that all are
# treated alike
BASE = VARIANTS.pop("base")[0].changes
BEAM_SIZES = tuple(variant.beams for variant in VARIANTS["S4"])
TABLES = {
    number: AblationTable(number, title, scope, VARIANTS[number], columns)
    for number, title, scope, columns in (
        ("4", "Key components", "global", FIVE),
        ("5", "Codebook size K × levels M", "local", FIVE),
        ("S3", "How an ID encodes modality", "global", FIVE),
        ("S4", "Beam size", "local", FIVE),
        ("S5", "Decoder size", "local", FIVE),
        ("S6", "Large and shared codebooks", "local", FIVE),
        ("S7", "Identifiers of other generative retrievers", "local", CAPTIONS),
        ("S8", "Encoders, local pools", "local", ALL),
        ("S9", "Encoders, global pools", "global", ALL),
    )
}
DEFAULT_TABLES = tuple(number for number in TABLES if number not in ("S8", "S9"))


def chosen_tables(numbers: Collection[str]) -> list[AblationTable]:
    """Raises UserError for an unknown table."""
    if unknown := [number for number in numbers if number not in TABLES]:
        raise UserError(
            f"--tables: there is no table {unknown[0]!r}; choose from {', '.join(TABLES)}"
        )
    return [TABLES[number] for number in numbers]


def trainings_of(tables: Iterable[AblationTable], base: Settings) -> dict[str, Training]:
    """The trainings of these tables by their keys. Raises UserError for encoders that cannot be
    compared.
    """
    variants = [variant for table in tables for variant in table.variants]
    if not all(variant.beams for variant in variants) and (
        base.encoder.image_tower or base.encoder.locked.enabled
    ):
        raise UserError(
            "every encoder of tables S8 and S9 is trained as a whole, and BLIP has the "
            "sizes of encoder.architecture; "
            "name a run without pretrained towers, such as those of preset small or paper"
        )
    return {training.key: training for training in (variant.training(base) for variant in variants)}
