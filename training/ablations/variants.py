"""What the paper's tables compare: variants, each a set of changed settings, and the tables they stand in.

A variant shares encoder and features with the run, and fusion and quantizer with every variant whose settings of them
are equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from genius.errors import UserError
from genius.evaluation.paper_ablations import ABLATIONS, COLUMNS, DECODER_SIZES, FULL, RIVALS
from training.checkpoint import fingerprint
from training.settings import Settings, with_stage_changes
from training.side_run import with_matching_sizes

BEAMS = 30  # of the paper's ablations
SWEEP = (1, 5, 10, 20, 30, 50)  # beams of Table S4
CONDITIONS = ("asked", "held-out phrasing", "dropped words", "swapped instruction")
DEFAULT_GRID, PAPER_SIZE = (4096, 9), 4096

EQUAL = (  # so that all variants are treated alike: the last epoch is kept
    "quantizer.keep_best=false",
    "quantizer.validate_last=true",
    "quantizer.coarse_weight=0",
    "quantizer.coarse_factor=",
    "decoder.patience=0",
    "decoder.keep_best=false",
    "decoder.validate_last=true",
)
DECODERS = {  # the blocks of a table
    "paper": ("decoder.decoder.geometry=false", "decoder.self_queries=false", "decoder.decoder_weights=[1.0]"),
    "ours": (
        "decoder.decoder.geometry=true",
        "decoder.self_queries=true",
        "decoder.decoder_weights=[1.0, 0.75, 0.5, 0.25, 0.1]",
    ),
}
SET_BY_TABLES = {change.partition("=")[0] for changes in (EQUAL, *DECODERS.values()) for change in changes}
SCALES: dict[str, tuple[str, ...]] = {
    "run": (),
    "small": (
        "quantizer.fusion.branch=128",
        "quantizer.fusion.hidden=256",
        "quantizer.quantizer.levels=9",
        "quantizer.quantizer.codebook_size=256",
        "quantizer.epochs=6",
        "quantizer.batch=1024",
        "quantizer.row_limit=600",
        "quantizer.kmeans_vectors=8000",
        "decoder.decoder.width=128",
        "decoder.decoder.layers=2",
        "decoder.decoder.heads=4",
        "decoder.decoder.head_width=32",
        "decoder.decoder.ff_width=256",
        "decoder.decoder.prefix=4",
        "decoder.epochs=8",
        "decoder.batch=256",
        "decoder.row_limit=600",
        "decoder.learning_rate=1e-3",
    ),
}


@dataclass(frozen=True)
class Variant:
    """A row of a table."""

    name: str
    changes: tuple[str, ...] = ()  # of settings, as --set takes them; @K/4 and the like are shares of the run's
    scheme: str = ""  # ID scheme in place of fusion and quantizer, one of id_schemes.SCHEMES
    beams: tuple[int, ...] = (BEAMS,)
    conditions: tuple[str, ...] = ("asked",)

    def settings(self, base: Settings) -> Settings:
        """The settings of the run with those of the variant; the decoder's sizes follow the quantizer's."""
        return with_matching_sizes(with_stage_changes(base, *(_computed(change, base) for change in self.changes)))


@dataclass(frozen=True)
class AblationTable:
    """One table of the paper."""

    number: str  # 4, S3, …
    title: str
    scope: str  # of the pool: "global" or "local"
    variants: tuple[Variant, ...]
    columns: tuple[tuple[int, str], ...] = COLUMNS  # M-BEIR task and dataset
    kind: str = "rows"  # rows: hit rate at the usual cut by column; cuts: at 1, 5, 10; beams, conditions
    blocks: tuple[str, ...] = ("paper",)


def _grid(size: int, levels: int) -> tuple[str, ...]:
    """A cell of the K × M grid: K is the same share of the run's as in the paper, M the paper's at M = 9."""
    return (f"quantizer.quantizer.codebook_size=@K*{size}/{PAPER_SIZE}", f"quantizer.quantizer.levels=@M+{levels - 9}")


def _sizes(name: str) -> tuple[str, ...]:
    """T5-small is the run's decoder; layers, heads and widths grow as those of T5-base and T5-large do."""
    layers, tenths = {"T5-small": (1, 10), "T5-base": (2, 15), "T5-large": (4, 20)}[name]
    return tuple(
        f"decoder.decoder.{field}=@{field}*{factor}/{over}"
        for field, factor, over in (
            ("layers", layers, 1),
            ("width", tenths, 10),
            ("ff_width", tenths, 10),
            ("heads", tenths, 10),
        )
    )


FULL_VARIANT = Variant(FULL, beams=SWEEP, conditions=CONDITIONS)
NO_AUGMENTATION = Variant("w/o query augmentation", ("decoder.augmentation=none",), conditions=CONDITIONS)
NO_MODALITY = ("quantizer.quantizer.modality_code=none",)

TABLES: dict[str, AblationTable] = {
    table.number: table
    for table in (
        AblationTable(
            "4",
            "Key components",
            "global",
            (
                FULL_VARIANT,
                Variant("w/o modality-decoupled", NO_MODALITY),
                NO_AUGMENTATION,
                Variant("w/o L_cl", ("quantizer.contrastive_weight=0",)),
                Variant("w/o L_mse", ("quantizer.mse_weight=0",)),
            ),
            blocks=("paper", "ours"),
        ),
        AblationTable(
            "5",
            "Codebook size K × levels M",
            "local",
            tuple(Variant(name, _grid(*map(int, name.split(" × ")))) for name in ABLATIONS["5"]),
        ),
        AblationTable(
            "S3",
            "How an ID encodes modality",
            "global",
            (
                Variant("modality-decoupled", ("quantizer.quantizer.modality_code=emergent",)),
                Variant("modality-decoupled, forced (ours)", ("quantizer.quantizer.modality_code=forced",)),
                Variant("classifier", ("quantizer.quantizer.modality_code=classifier",)),
                Variant("RQ w/o modality code", NO_MODALITY),
            ),
        ),
        AblationTable("S4", "Beam size", "local", (FULL_VARIANT,), kind="beams", blocks=("paper", "ours")),
        AblationTable("S5", "Decoder size", "local", tuple(Variant(name, _sizes(name)) for name in DECODER_SIZES)),
        AblationTable(
            "S6",
            "Large and shared codebooks",
            "local",
            (
                Variant("4096 × 9", _grid(*DEFAULT_GRID)),
                Variant("8192 × 17", _grid(8192, 17)),
                Variant("4096 × 9, shared", (*_grid(*DEFAULT_GRID), "quantizer.quantizer.shared=true")),
            ),
        ),
        AblationTable(
            "S7",
            "Identifiers of other generative retrievers, captions to images",
            "local",
            (
                *(
                    Variant(name, ("decoder.augmentation=none",), scheme=scheme)
                    for name, scheme in (
                        ("GRACE, numeric", "numeric"),
                        ("GRACE, string", "string"),
                        ("GRACE, semantic", "semantic"),
                        ("GRACE, structured", "structured"),
                        ("DSI/NCI, hierarchical k-means", "hierarchical"),
                        ("IRGen", "residual"),
                    )
                ),
                FULL_VARIANT,
            ),
            kind="cuts",
        ),
        AblationTable(
            "R",
            "With and without query augmentation (not a table of the paper)",
            "global",
            (FULL_VARIANT, NO_AUGMENTATION),
            kind="conditions",
        ),
    )
}
PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = ABLATIONS | {"S7": RIVALS}


@dataclass(frozen=True)
class TrainingJob:
    """A training: a variant in one block, with all that any table measures of it."""

    settings: Settings
    scheme: str
    beams: tuple[int, ...]
    conditions: tuple[str, ...]

    @property
    def ids(self) -> str:
        """Checksum of what makes the IDs; jobs with the same one share fusion and quantizer."""
        return fingerprint(
            self.scheme, "" if self.scheme else self.settings.quantizer, self.settings.quantizer.quantizer
        )

    @property
    def key(self) -> str:
        """Checksum of all that is trained."""
        return fingerprint(self.ids, self.settings.decoder)


def chosen_tables(names: Iterable[str]) -> list[AblationTable]:
    """Raises UserError for an unknown table."""
    names = list(names)
    if unknown := [name for name in names if name not in TABLES]:
        raise UserError(f"--tables: there is no table {unknown[0]!r}; choose from {', '.join(TABLES)}")
    return [TABLES[name] for name in names]


def all_jobs(base: Settings) -> dict[str, TrainingJob]:
    """Every training of all tables by its key, each with all that any table measures of it."""
    found: dict[str, TrainingJob] = {}
    for table in TABLES.values():
        for block in table.blocks:
            for variant in table.variants:
                job = job_of(variant, block, base)
                if before := found.get(job.key):
                    job = TrainingJob(
                        job.settings,
                        job.scheme,
                        tuple(sorted({*before.beams, *job.beams})),
                        tuple(name for name in CONDITIONS if name in (*before.conditions, *job.conditions)),
                    )
                found[job.key] = job
    return found


def job_of(variant: Variant, block: str, base: Settings) -> TrainingJob:
    """The training of a variant in one block; base: the settings of the run at its scale."""
    base = with_stage_changes(base, *EQUAL, *DECODERS[block])
    return TrainingJob(variant.settings(base), variant.scheme, variant.beams, variant.conditions)


def _computed(change: str, base: Settings) -> str:
    """A change with a share of the run's own value (@field*a/b or @field+a) as a plain number, at least 1."""
    path, _, text = change.partition("=")
    if not text.startswith("@"):
        return change
    field = text[1:].partition("*")[0].partition("+")[0]
    owner = base.quantizer.quantizer if field in ("K", "M") else base.decoder.decoder
    value = getattr(owner, {"K": "codebook_size", "M": "levels"}.get(field, field))
    rest = text[1 + len(field) :]
    if rest.startswith("*"):
        factor, over = map(int, rest[1:].split("/"))
        value = value * factor // over
    else:
        value += int(rest[1:])
    return f"{path}={max(value, 2 if field in ('K', 'M') else 1)}"


def published(number: str, name: str) -> tuple[float, ...] | None:
    """The paper's figures of a row in percent; None if it prints none."""
    return PUBLISHED.get(number, {}).get(name)


def size_name(settings: Settings) -> str:
    """K × M of the settings."""
    quantizer = settings.quantizer.quantizer
    return f"{quantizer.codebook_size} × {quantizer.levels}"
