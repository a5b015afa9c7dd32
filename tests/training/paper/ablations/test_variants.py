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


NO_MODALITY = {"quantizer.quantizer.modality_code": "none", "decoder.decoder.sizes": (4096,) * 9}
IDS = ("quantizer.quantizer", "decoder.decoder")
BLIP = {"encoder.architecture": BLIP_LARGE, "encoder.pretrained": ""}
T5_LARGE = {"layers": 24, "width": 1024, "ff_width": 4096, "heads": 16}


@pytest.mark.parametrize(
    ("table", "name", "expected"),
    [
        ("4", "GENIUS", {}),
        ("4", "w/o modality-decoupled", NO_MODALITY),
        ("4", "w/o query augmentation", {"decoder.augmentation": "none"}),
        ("4", "w/o L_cl", {"quantizer.contrastive_weight": 0.0}),
        ("4", "w/o L_mse", {"quantizer.mse_weight": 0.0}),
        ("5", "4096 × 7", {f"{part}.levels": 7 for part in IDS}),
        ("5", "256 × 9", {f"{part}.codebook_size": 256 for part in IDS}),
        ("S3", "modality-decoupled, forced", {"quantizer.quantizer.modality_code": "forced"}),
        ("S3", "classifier", {"quantizer.quantizer.modality_code": "classifier"}),
        ("S5", "T5-large", {f"decoder.decoder.{name}": n for name, n in T5_LARGE.items()}),
        ("S6", "4096 × 9, shared", {"quantizer.quantizer.shared": True}),
        ("S7", "IRGen", {"decoder.augmentation": "none"}),
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


def test_there_is_a_published_figure_for_each_column_also_from_tables_of_evaluation():
    for table in TABLES.values():
        for variant in table.variants:
            assert len(variant.published) in (0, len(table.columns))
    printed = {variant.name: variant.published for variant in TABLES["S9"].variants}
    coco = TABLES["S9"].columns.index((0, "mscoco", 0))
    assert {name: figures[coco] for name, figures in printed.items()} == {
        "CLIP-SF": 77.9,
        "CLIP-FF": 74.7,
        "BLIP-SF": 71.6,
        "BLIP-FF": 75.6,
    }
    assert TABLES["S7"].variants[-1].published == (46.1, 74.0, 82.7)


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
