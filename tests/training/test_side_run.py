"""What a second run takes over from the first."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from genius.encoding.features import FeatureFiles
from genius.errors import UserError
from genius.run import Run
from training.presets import DEMO, PAPER
from training.settings import with_stage_changes
from training.side_run import feature_folders, recorded_settings, share_features, with_matching_sizes

DEMO_RUN = Path(__file__).parents[2] / "assets" / "demo"


def test_the_settings_of_the_shipped_run_are_its_presets():
    assert recorded_settings(Run(DEMO_RUN)) == DEMO


def test_a_run_without_settings_is_refused(tmp_path):
    with pytest.raises(UserError, match="lacks the settings of this version"):
        recorded_settings(Run(tmp_path))


def test_a_converted_run_without_settings_is_not_to_be_trained(tmp_path):
    Run(tmp_path).record(left_out={})
    with pytest.raises(UserError, match="are published, .*python -m training.features COLLECTION .* --preset paper$"):
        recorded_settings(Run(tmp_path))


def test_shared_features_are_fused_by_no_fusion(trained_run, tmp_path):
    """A fused.npy that is there is of another training."""
    run, side = Run(trained_run), tmp_path / "side"
    share_features(run, side)
    for folder in (run.path / "features").iterdir():
        ours, shared = FeatureFiles(folder), FeatureFiles(side / "features" / folder.name)
        assert ours.progress["fusion"] == run.digest("fusion")
        assert shared.progress == ours.progress | {"fusion": None}
        with pytest.raises(UserError, match="does not hold the fused features"):
            shared.fused(run.digest("fusion"))


def test_what_others_left_beside_the_features_is_not_taken_for_features(trained_run, tmp_path):
    run = Run(shutil.copytree(trained_run, tmp_path / "run"))
    (run.path / "features" / ".DS_Store").write_bytes(b"Mac")
    (run.path / "features" / "mine").mkdir()
    side = share_features(run, tmp_path / "side")
    names = ["candidates", "train", "val"]
    assert [folder.name for folder in feature_folders(run)] == names
    assert sorted(folder.name for folder in (side.path / "features").iterdir()) == names


def test_the_decoder_takes_the_sizes_of_the_quantizer():
    settings = PAPER
    for change in ("quantizer.quantizer.levels=5", "quantizer.quantizer.codebook_size=16"):
        settings = with_stage_changes(settings, change)
    with pytest.raises(ValueError, match="are equal"):
        settings.check()
    decoder = with_matching_sizes(settings).decoder.decoder
    assert decoder == replace(PAPER.decoder.decoder, levels=5, codebook_size=16)
    decoder = with_matching_sizes(
        with_stage_changes(settings, "quantizer.quantizer.modality_code=none")
    ).decoder.decoder
    assert decoder.code_sizes == (16,) * 5
