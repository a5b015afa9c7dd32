"""Each variant against the paper's definition of it."""

import dataclasses
import itertools

import pytest

from genius.errors import UserError
from genius.evaluation.paper_ablations import ABLATIONS, COLUMNS, RIVALS
from genius.models.decoder import IDDecoder
from tests.training.test_presets import flat
from training.ablations.__main__ import scaled
from training.ablations.variants import DECODERS, PUBLISHED, SCALES, TABLES, Variant, all_jobs, chosen_tables, job_of
from training.id_schemes import SCHEMES
from training.presets import DEMO, PAPER, PHOTOS, SMALL

SMALL_SCALE = scaled(PHOTOS, "small", [])


def changed(name: str, table: str, base=PAPER, block: str = "paper") -> dict:
    """The settings in which a variant differs from the full one."""
    rows = {variant.name: variant for variant in TABLES[table].variants}
    full, own = (flat(job_of(one, block, base).settings) for one in (Variant("full"), rows[name]))
    return {path: value for path, value in own.items() if value != full[path]}


def test_the_papers_decoder_is_that_of_the_presets_that_reproduce_it():
    """No geometry, no self-queries, weight 1: in every block of that name, whatever the run has."""
    for base in (DEMO, PHOTOS, SMALL):
        settings = job_of(Variant("full"), "paper", base).settings.decoder
        assert (settings.decoder.geometry, settings.self_queries, settings.decoder_weights) == (
            PAPER.decoder.decoder.geometry,
            PAPER.decoder.self_queries,
            PAPER.decoder.decoder_weights,
        )


def test_no_variant_has_another_contrastive_loss_or_keeps_an_epoch_that_validation_prefers():
    for job in all_jobs(DEMO).values():
        assert job.settings.quantizer.coarse_weight == 0
        assert not job.settings.quantizer.keep_best and not job.settings.decoder.keep_best


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GENIUS", {}),
        ("w/o query augmentation", {"decoder.augmentation": "none"}),
        ("w/o L_cl", {"quantizer.contrastive_weight": 0.0}),
        ("w/o L_mse", {"quantizer.mse_weight": 0.0}),
    ],
)
def test_a_variant_of_table_4_lacks_one_thing(name, expected):
    assert changed(name, "4", PHOTOS) == expected


def test_without_modality_decoupled_codes_all_levels_have_k_codes():
    found = changed("w/o modality-decoupled", "4", PHOTOS)
    assert found == {"quantizer.quantizer.modality_code": "none", "decoder.decoder.sizes": (256,) * 9}
    assert found == changed("RQ w/o modality code", "S3", PHOTOS)


def test_the_rows_of_table_s3_are_the_four_first_codes():
    codes = [job_of(one, "paper", PHOTOS).settings.quantizer.quantizer.modality_code for one in TABLES["S3"].variants]
    assert codes == ["emergent", "forced", "classifier", "none"]


def test_the_grid_is_the_papers_at_its_size_and_in_proportion_at_others():
    for number in ("5", "S6"):
        for variant in TABLES[number].variants:
            for base, share in ((PAPER, 1), (SMALL_SCALE, 16)):
                quantizer = job_of(variant, "paper", base).settings.quantizer.quantizer
                size, levels = map(int, variant.name.removesuffix(", shared").split(" × "))
                assert (quantizer.codebook_size * share, quantizer.levels) == (size, levels)
                assert quantizer.shared == variant.name.endswith("shared")


def test_the_decoders_grow_as_t5_does():
    small, base, large = (job_of(variant, "paper", PAPER).settings.decoder.decoder for variant in TABLES["S5"].variants)
    assert small == dataclasses.replace(PAPER.decoder.decoder)
    assert (base.layers, base.width, base.ff_width, base.heads) == (12, 768, 3072, 12)
    assert (large.layers, large.width, large.ff_width, large.heads) == (24, 1024, 4096, 16)
    sizes = [job_of(variant, "paper", SMALL_SCALE).settings.decoder.decoder for variant in TABLES["S5"].variants]
    counts = [sum(p.numel() for p in IDDecoder(config).parameters()) for config in sizes]
    assert counts == sorted(set(counts))


def test_every_published_row_has_a_variant_and_a_figure_for_each_column():
    for number, rows in PUBLISHED.items():
        names = {variant.name for variant in TABLES[number].variants}
        if number == "S4":
            names = {f"{beams} beam{'s' * (beams > 1)}" for beams in TABLES["S4"].variants[0].beams}
        if number == "S7":
            names.add("GENIUS + re-rank")
        assert rows.keys() <= names
        assert {len(figures) for figures in rows.values()} == {3 if number == "S7" else len(COLUMNS)}


def test_equal_rows_of_the_papers_tables_are_equal():
    """Full in 4 and S3, without modality in 4 and S3, 4096 × 9 in 5, S5 and S6: one training each."""
    assert ABLATIONS["4"]["GENIUS"] == ABLATIONS["S3"]["modality-decoupled"]
    assert ABLATIONS["4"]["w/o modality-decoupled"] == ABLATIONS["S3"]["RQ w/o modality code"]
    assert ABLATIONS["5"]["4096 × 9"] == ABLATIONS["S5"]["T5-small"] == ABLATIONS["S6"]["4096 × 9"]
    by_table = {
        number: {variant.name: job_of(variant, "paper", PHOTOS).key for variant in table.variants}
        for number, table in TABLES.items()
    }
    assert by_table["4"]["GENIUS"] == by_table["5"]["4096 × 9"] == by_table["S5"]["T5-small"]
    assert by_table["4"]["w/o modality-decoupled"] == by_table["S3"]["RQ w/o modality code"]


def test_every_rival_scheme_is_measured_without_augmentation():
    schemes = {variant.scheme for variant in TABLES["S7"].variants} - {""}
    assert schemes == SCHEMES.keys() and len(RIVALS) == 7
    for variant in TABLES["S7"].variants:
        if variant.scheme:
            assert job_of(variant, "paper", PHOTOS).settings.decoder.augmentation == "none"


def test_variants_that_differ_in_the_decoder_alone_share_their_ids():
    full, without, no_contrast = (
        job_of(variant, "paper", PHOTOS)
        for variant in (TABLES["4"].variants[0], TABLES["4"].variants[2], TABLES["4"].variants[3])
    )
    assert full.ids == without.ids != no_contrast.ids and full.key != without.key


def test_a_training_is_measured_for_every_table_that_it_stands_in():
    full = all_jobs(PHOTOS)[job_of(TABLES["4"].variants[0], "paper", PHOTOS).key]
    assert full.beams == (1, 5, 10, 20, 30, 50) and len(full.conditions) == 4


@pytest.mark.parametrize(("scale", "block"), list(itertools.product(SCALES, DECODERS)))
def test_the_settings_of_every_training_fit_each_other(scale, block):
    for table in TABLES.values():
        for variant in table.variants:
            job_of(variant, block, scaled(PHOTOS, scale, [])).settings.check()


def test_an_unknown_table_is_refused():
    with pytest.raises(UserError, match="--tables: there is no table '9'"):
        chosen_tables(["4", "9"])
