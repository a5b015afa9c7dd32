"""Each variant against the paper's definition of it."""

import pytest

from genius.errors import UserError
from genius.models.decoder import IDDecoder
from tests.training.test_presets import flat
from training.paper.ablations.id_schemes import SCHEMES
from training.paper.ablations.variants import (
    BASE,
    BLIP_LARGE,
    DEFAULT_TABLES,
    TABLES,
    blip,
    chosen_tables,
    trainings_of,
)
from training.presets import PAPER, PHOTOS, SMALL, TOY
from training.settings import Settings, with_stage_changes

PUBLISHED_BASE = with_stage_changes(PAPER, *BASE)
SMALLER = with_stage_changes(SMALL, *BASE, "quantizer.quantizer.codebook_size=256")


def settings_of(table: str, name: str, base: Settings = PUBLISHED_BASE) -> Settings:
    return (
        next(variant for variant in TABLES[table].variants if variant.name == name)
        .training(base)
        .settings
    )


def changed(table: str, name: str, base: Settings = PUBLISHED_BASE) -> dict:
    """The settings in which a variant differs from the base."""
    before, after = flat(base), flat(settings_of(table, name, base))
    return {path: value for path, value in after.items() if value != before[path]}


def grid(codes: int, levels: int) -> dict:
    """What differs from 4096 × 9."""
    sizes = {"codebook_size": codes} if codes != 4096 else {}
    sizes |= {"levels": levels} if levels != 9 else {}
    return {
        f"{part}.{name}": size
        for part in ("quantizer.quantizer", "decoder.decoder")
        for name, size in sizes.items()
    }


NO_MODALITY = {"quantizer.quantizer.modality_code": "none", "decoder.decoder.sizes": (4096,) * 9}
BLIP = {"encoder.architecture": BLIP_LARGE, "encoder.pretrained": ""}


def t5(*sizes: int) -> dict:
    names = ("layers", "width", "ff_width", "heads")
    return {f"decoder.decoder.{name}": size for name, size in zip(names, sizes, strict=True)}


@pytest.mark.parametrize(
    ("table", "name", "expected"),
    [
        ("4", "GENIUS", {}),
        ("4", "w/o modality-decoupled", NO_MODALITY),
        ("4", "w/o query augmentation", {"decoder.augmentation": "none"}),
        ("4", "w/o L_cl", {"quantizer.contrastive_weight": 0.0}),
        ("4", "w/o L_mse", {"quantizer.mse_weight": 0.0}),
        ("5", "4096 × 7", grid(4096, 7)),
        ("5", "4096 × 5", grid(4096, 5)),
        ("5", "1024 × 9", grid(1024, 9)),
        ("5", "256 × 9", grid(256, 9)),
        ("5", "1024 × 7", grid(1024, 7)),
        ("5", "256 × 5", grid(256, 5)),
        ("S3", "modality-decoupled", {}),  # as in the preset paper
        ("S3", "modality-decoupled, forced", {"quantizer.quantizer.modality_code": "forced"}),
        ("S3", "classifier", {"quantizer.quantizer.modality_code": "classifier"}),
        ("S5", "T5-base", t5(12, 768, 3072, 12)),
        ("S5", "T5-large", t5(24, 1024, 4096, 16)),
        ("S6", "8192 × 17", grid(8192, 17)),
        ("S6", "4096 × 9, shared", {"quantizer.quantizer.shared": True}),
        ("S7", "IRGen", {"decoder.augmentation": "none"}),
        ("S9", "CLIP-SF", {}),
        ("S9", "CLIP-FF", {"encoder.fusion": "feature"}),
        ("S9", "BLIP-SF", BLIP),
        ("S9", "BLIP-FF", BLIP | {"encoder.fusion": "feature"}),
    ],
)
def test_a_variant_differs_from_the_run_in_what_the_paper_says(table, name, expected):
    assert changed(table, name) == expected


def test_the_base_is_the_papers_decoder_whatever_the_run_has():
    """No geometry, no self-queries, weight 1; no loss of ours, and the last epoch."""
    for recorded in (SMALL, PHOTOS):
        base = with_stage_changes(recorded, *BASE)
        assert (
            base.decoder.decoder.geometry,
            base.decoder.self_queries,
            base.decoder.decoder_weights,
        ) == (
            PAPER.decoder.decoder.geometry,
            PAPER.decoder.self_queries,
            PAPER.decoder.decoder_weights,
        )
        assert not base.quantizer.keep_best and not base.decoder.keep_best


def test_every_training_has_settings_that_fit_each_other():
    for recorded, tables in ((SMALL, TABLES), (PHOTOS, DEFAULT_TABLES), (PAPER, TABLES)):
        for training in trainings_of(
            chosen_tables(tables), with_stage_changes(recorded, *BASE)
        ).values():
            training.settings.check()
    with pytest.raises(UserError, match="name a run without pretrained towers"):
        trainings_of([TABLES["S9"]], with_stage_changes(PHOTOS, *BASE))


def test_sizes_are_those_of_the_paper_in_proportion():
    for name in ("4096 × 9", "1024 × 7", "256 × 5"):
        quantizer = settings_of("5", name, SMALLER).quantizer.quantizer
        codes, levels = map(int, name.split(" × "))
        assert (quantizer.codebook_size, quantizer.levels) == (codes // 16, levels)
    toy = with_stage_changes(TOY, *BASE)
    grids = [
        settings_of(*row, toy).quantizer.quantizer
        for row in (("5", "1024 × 7"), ("S6", "8192 × 17"))
    ]
    # the run's are 64 × 5
    assert [(made.codebook_size, made.levels) for made in grids] == [(16, 4), (128, 9)]
    counts = []
    for name in ("T5-small", "T5-base", "T5-large"):
        decoder = IDDecoder(settings_of("S5", name, SMALLER).decoder.decoder)
        counts.append(sum(weight.numel() for weight in decoder.parameters()))
    assert counts == sorted(set(counts))


def test_blip_is_as_large_as_the_runs_clip():
    architecture = blip(SMALL.encoder.architecture)
    assert architecture["embed_dim"] == 256 and architecture["vision_cfg"]["image_size"] == 80
    assert architecture["text_cfg"] == {
        "width": 256,
        "layers": 3,
        "heads": 4,
        "context_length": 32,
        "vocab_size": 49408,
    }


PUBLISHED = {  # the first and the last row of each table as printed
    "4": {"GENIUS": (55.4, 82.7, 28.3, 47.1, 20.5), "w/o L_mse": (45.5, 83.1, 27.1, 35.2, 21.6)},
    "5": {"4096 × 9": (65.3, 83.4, 28.8, 47.4, 21.0), "256 × 5": (53.4, 72.4, 9.7, 22.8, 13.0)},
    "S3": {
        "classifier": (48.9, 79.2, 25.7, 37.5, 20.3),
        "RQ w/o modality code": (20.2, 73.2, 25.9, 34.3, 18.3),
    },
    "S4": {"1 beam": (24.2, 41.6, 5.1, 10.4, 4.9), "50 beams": (68.2, 83.3, 32.8, 50.0, 21.0)},
    "S5": {"T5-base": (67.9, 83.5, 31.6, 48.0, 18.3), "T5-large": (67.2, 83.2, 32.4, 50.4, 7.1)},
    "S6": {
        "8192 × 17": (59.5, 81.8, 30.6, 44.8, 26.5),
        "4096 × 9, shared": (18.6, 19.3, 0.2, 1.7, 3.3),
    },
    "S7": {"GRACE, numeric": (0.03, 0.14, 0.28), "GENIUS + re-rank": (46.1, 74.0, 82.7)},
}


def test_published_figures_are_as_printed_and_there_is_one_for_each_column():
    for table in TABLES.values():
        for variant in table.variants:
            assert len(variant.published) in (0, len(table.columns))
            assert variant.published == PUBLISHED.get(table.number, {}).get(
                variant.name, variant.published
            )
    encoders = {
        variant.name: dict(zip(TABLES["S9"].columns, variant.published, strict=True))
        for variant in TABLES["S9"].variants
    }
    coco = {name: figures[0, "mscoco", 0] for name, figures in encoders.items()}
    assert coco == {"CLIP-SF": 77.9, "CLIP-FF": 74.7, "BLIP-SF": 71.6, "BLIP-FF": 75.6}


def test_equal_rows_of_the_papers_tables_are_one_training():
    keys = {
        (table.number, variant.name): variant.training(PUBLISHED_BASE).key
        for table in TABLES.values()
        for variant in table.variants
    }
    full = keys["4", "GENIUS"]
    for equal in (
        ("5", "4096 × 9"),
        ("S3", "modality-decoupled"),
        ("S4", "1 beam"),
        ("S5", "T5-small"),
        ("S7", "GENIUS"),
    ):
        assert keys[equal] == full
    assert keys["4", "w/o modality-decoupled"] == keys["S3", "RQ w/o modality code"] != full
    assert {variant.scheme for variant in TABLES["S7"].variants} - {""} == SCHEMES.keys()
    assert keys["S8", "BLIP-FF"] == keys["S9", "BLIP-FF"] and len(set(keys.values())) == 23 + 4


def test_variants_that_differ_in_the_decoder_alone_share_their_ids():
    full, _, no_augmentation, no_contrast, _ = (
        variant.training(PUBLISHED_BASE) for variant in TABLES["4"].variants
    )
    assert full.ids == no_augmentation.ids != no_contrast.ids and full.key != no_augmentation.key


def test_an_unknown_table_is_refused():
    with pytest.raises(UserError, match="--tables: there is no table '9'; choose from 4, 5, S3"):
        chosen_tables(["4", "9"])
