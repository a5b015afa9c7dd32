"""A second run that shares encoder and features with a trained one, to train the later stages in another way."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from genius.encoding.sharded_arrays import read_progress
from genius.errors import UserError
from genius.files import link_or_copy, write_json
from genius.reading import first_problem
from genius.run import Run
from training.settings import Settings


def share_features(run: Run, path: Path) -> Run:
    """The run at `path`, with the encoder's entry and the features of `run`, without those of its fusion.

    Features are linked, so they stay if those of `run` are computed again meanwhile.
    """
    side = Run(path)
    with side.changing() as manifest:
        manifest["parts"]["encoder"] = run.manifest["parts"]["encoder"]
    for folder in feature_folders(run):
        mirrored = path / "features" / folder.name
        mirrored.mkdir(parents=True, exist_ok=True)
        for file in folder.glob("*.npy"):
            if file.name != "fused.npy":
                (mirrored / file.name).unlink(missing_ok=True)
                link_or_copy(file, mirrored / file.name)
        write_json(mirrored / "progress.json", read_progress(folder) | {"fusion": None})
    return Run(path)


def feature_folders(run: Run) -> list[Path]:
    """The folders of features of a run, by name; what lies beside them, such as .DS_Store, is no features."""
    return sorted(file.parent for file in (run.path / "features").glob("*/progress.json"))


def recorded_settings(run: Run) -> Settings:
    """The settings that a run was trained with. Raises UserError if its manifest lacks those of this version."""
    try:
        settings = TypeAdapter(Settings).validate_json(json.dumps(run.manifest["settings"]))
        settings.check()
        return settings
    except (KeyError, ValidationError, ValueError) as error:
        reason = first_problem(error) if isinstance(error, ValidationError) else error
        how = f"train the run with: python -m training COLLECTION {run.path}"
        if "left_out" in run.manifest:
            how = (
                "its weights are published, so it has none until a collection is encoded with: "
                f"python -m training.features COLLECTION {run.path} --preset paper"
            )
        raise UserError(f"the manifest of {run.path} lacks the settings of this version ({reason}); {how}") from None


def with_matching_sizes(settings: Settings) -> Settings:
    """The settings with the decoder's sizes made those of the quantizer."""
    quantizer, decoder = settings.quantizer.quantizer, settings.decoder.decoder
    plain = dataclasses.replace(
        decoder, dim=quantizer.dim, levels=quantizer.levels, codebook_size=quantizer.codebook_size, sizes=()
    )
    if plain.code_sizes != quantizer.code_sizes:
        plain = dataclasses.replace(plain, sizes=quantizer.code_sizes)
    settings = dataclasses.replace(settings, decoder=dataclasses.replace(settings.decoder, decoder=plain))
    settings.check()
    return settings
