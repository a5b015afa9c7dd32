"""Train the paper's encoder baselines, measure them by dense search, write RUN/reports/encoders.json and .md.

    python -m training.benchmarks.encoders COLLECTION RUN [--preset small]
    python -m training.benchmarks.encoders COLLECTION RUN --systems CLIP-SF,CLIP-FF,BLIP-SF,BLIP-FF

CLIP-SF, CLIP-FF, BLIP-SF and BLIP-FF are trained on all benchmark rows with the settings, pairs and loss of the encoder
stage; "CLIP-SF, single task" and "BLIP-FF, single task" are an encoder for each row, trained on its queries alone.
Queries of the test split are searched exactly (faiss) in the global and the local pool, single-task encoders in the
local one, as in the paper's Tables 8 and 9. Encoders stay in RUN/encoders. A killed
command resumes where it stopped when you run it again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import add_device, add_seed, command_parser, parse_positive
from genius.evaluation.queries import QuerySet, read_queries
from genius.files import disk_errors_explained, write_json, write_report
from genius.models.encoder import Encoder
from genius.models.feature_fusion import FeatureFusionEncoder
from genius.run import Run
from genius.runtime import keep_freed_memory
from training.ablations.query_columns import SPLIT, CandidateRows, search_facts, searched_pools
from training.benchmarks.encoder_report import build, markdown
from training.benchmarks.encoder_search import dense_search
from training.checkpoint import fingerprint
from training.command_line import (
    Arguments,
    add_preset_argument,
    add_set_argument,
    add_workers_argument,
    reported_command,
    workers_per_process,
)
from training.distributed import barrier, init_distributed, is_main
from training.encoder import train
from training.pairs import CandidateTable
from training.presets import PRESETS
from training.settings import EncoderSettings, Settings, with_changes
from training.stage import RESUME, is_done, only_trainer, run_stage

PATCH = 16  # side of the squares that BLIP's image tower sees as tokens where CLIP's has none, pixels
BLIP_LARGE = {  # BLIP with ViT-L/16, as in UniIR, which reads 224 pixels and 100 tokens
    "embed_dim": 768,
    "blip": True,
    "vision_cfg": {"image_size": 224, "patch_size": PATCH, "width": 1024, "layers": 24, "heads": 16},
    "text_cfg": {"context_length": 100, "vocab_size": 30_524, "width": 768, "layers": 12, "heads": 12},
}


@dataclass(frozen=True)
class EncoderSystem:
    """One of the paper's encoders."""

    name: str
    blip: bool = False
    fusion: str = "score"
    single: bool = False  # an encoder for each benchmark row

    @property
    def folder(self) -> str:
        return self.name.lower().replace(", ", "-").replace(" ", "-")

    def settings(self, base: EncoderSettings, rows: tuple[str, ...] = ()) -> EncoderSettings:
        """The settings of the encoder stage for this encoder; rows: what it is trained on, empty: everything."""
        settings = replace(base, fusion=self.fusion, rows=rows)
        return replace(settings, architecture=blip_architecture(base), pretrained="") if self.blip else settings


SYSTEMS = {
    system.name: system
    for system in (
        EncoderSystem("CLIP-SF, single task", single=True),
        EncoderSystem("CLIP-SF"),
        EncoderSystem("CLIP-FF", fusion="feature"),
        EncoderSystem("BLIP-SF", blip=True),
        EncoderSystem("BLIP-FF", blip=True, fusion="feature"),
        EncoderSystem("BLIP-FF, single task", blip=True, fusion="feature", single=True),
    )
}


def blip_architecture(base: EncoderSettings) -> dict[str, Any]:
    """BLIP as large as the CLIP of the settings: the published one for a name of open_clip, else its text tower's."""
    clip = base.architecture
    if isinstance(clip, str):
        return BLIP_LARGE
    text, vision = clip["text_cfg"], clip["vision_cfg"]
    sizes = {name: text[name] for name in ("width", "layers", "heads")}
    return {
        "embed_dim": clip["embed_dim"],
        "blip": True,
        "vision_cfg": sizes | {"image_size": vision["image_size"], "patch_size": vision.get("patch_size", PATCH)},
        "text_cfg": sizes | {name: text[name] for name in ("context_length", "vocab_size")},
    }


def main(arguments: list[str] | None = None) -> None:
    parser = command_parser("training.benchmarks.encoders", __doc__)
    parser.add_argument("collection", type=Path, help="an M-BEIR-format directory")
    parser.add_argument("run", type=Path, help="the directory to train into")
    add_preset_argument(parser)
    parser.add_argument(
        "--systems", default=",".join(SYSTEMS), metavar="NAME,…", help='encoders to train (default: "%(default)s")'
    )
    parser.add_argument(
        "--limit", type=partial(parse_positive, "--limit"), help="test queries of each row, a sample (default: all)"
    )
    add_seed(parser, "all random choices")
    add_device(parser)
    add_set_argument(parser)
    add_workers_argument(parser)
    options = parser.parse_args(arguments)
    systems, limit = chosen_systems(options.systems), options.limit
    settings = with_changes(replace(PRESETS[options.preset], seed=options.seed), options.set)
    check(settings.encoder)
    device = init_distributed(options.device)
    workers, device = workers_per_process(options.workers, device), str(device)
    keep_freed_memory()
    collection, paths = Collection(options.collection), {options.collection: "COLLECTION", options.run: "RUN"}
    candidates = CandidateRows(CandidateTable.read(collection))
    sets = read_queries(collection, candidates, SPLIT, limit=limit, seed=options.seed, phrasing="seeded")
    with only_trainer(options.run), disk_errors_explained(options.run, RESUME):
        measured: dict[str, dict[str, Any]] = {}
        for system in systems:
            for name, rows, asked in trainings(system, sets):
                folder = options.run / "encoders" / system.folder / name
                stage = replace(settings, encoder=system.settings(settings.encoder, rows))
                made = Arguments(options.collection, folder, options.preset, stage, device, workers)
                if not is_done("encoder", made):
                    run_stage("encoder", train, made)
                if is_main():
                    found = kept_search(folder, system, collection, candidates, asked, device)
                    measured.setdefault(system.name, {}).update(found)
            barrier()
        if is_main():
            report = {
                "command": reported_command("training.benchmarks.encoders", arguments, paths),
                "collection": collection.root.resolve().name,
                "size": size(settings, options.preset, candidates.n, sets, device),
            } | build(sets, measured)
            write_report(options.run / "reports" / "encoders", report, markdown(report))


def trainings(system: EncoderSystem, sets: list[QuerySet]) -> list[tuple[str, tuple[str, ...], list[QuerySet]]]:
    """Every training of a system: the name of its folder, the rows it is trained on, the queries it answers."""
    if not system.single:
        return [("", (), sets)]
    named = [(f"{own.row.task}:{own.row.dataset}", own) for own in sets]
    return [(name.replace(":", "-"), (name,), [own]) for name, own in named]


def kept_search(
    folder: Path,
    system: EncoderSystem,
    collection: Collection,
    candidates: CandidateRows,
    sets: list[QuerySet],
    device: str,
) -> dict[str, Any]:
    """The hit rates of a trained encoder, from its folder if the same search was measured before."""
    run, file = Run(folder), folder / "dense.json"
    scopes = ("local",) if system.single else ("global", "local")
    pools = [{scope: pools[scope] for scope in scopes} for pools in searched_pools(collection, candidates, sets)]
    searched = [search_facts(queries, own) for queries, own in zip(sets, pools, strict=True)]
    facts = fingerprint(run.digest("encoder"), candidates.table.content_digest, searched)
    kept = json.loads(file.read_text()) if file.is_file() else {}
    if kept.get("facts") != facts:
        load = FeatureFusionEncoder.load if system.fusion == "feature" else Encoder.load
        encoder = load(run.folder("encoder")).to(device)
        kept = {"facts": facts, "rows": dense_search(encoder, collection, sets, pools)}
        write_json(file, kept)
    return kept["rows"]


def chosen_systems(names: str) -> list[EncoderSystem]:
    """The systems of these names, which hold commas themselves. Raises UserError for an unknown name."""
    text = names.replace(", single", "; single")
    wanted = [name.strip().replace("; single", ", single") for name in text.split(",")]
    if unknown := [name for name in wanted if name not in SYSTEMS]:
        raise UserError(f"--systems: there is no {unknown[0]!r}; choose from {'; '.join(SYSTEMS)}")
    return [system for name, system in SYSTEMS.items() if name in wanted]


def check(settings: EncoderSettings) -> None:
    """Raise UserError for settings under which the encoders cannot be compared."""
    if settings.image_tower or settings.locked.enabled:
        raise UserError(
            "every encoder is trained as a whole here, and BLIP has the sizes of encoder.architecture; take a preset "
            "without pretrained towers, such as small or paper"
        )
    if settings.rows:
        raise UserError("encoder.rows is set by the systems here: leave it empty")


def size(settings: Settings, preset: str, candidates: int, sets: list[QuerySet], device: str) -> str:
    """What was trained, in two sentences."""
    encoder, queries = settings.encoder, sum(map(len, sets))
    architecture = encoder.architecture
    if not isinstance(architecture, str):
        image, text = architecture["vision_cfg"], architecture["text_cfg"]
        architecture = (
            f"{image.get('timm_model_name', 'a vision transformer')} at {image['image_size']} pixels and a text "
            f"transformer of {text['layers']} layers and width {text['width']}"
        )
    threads = f"{torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)}"
    return (
        f"Preset {preset}: CLIP is {architecture}, started from {encoder.pretrained or 'random weights'}; BLIP, of "
        f"transformers, from random weights; {encoder.epochs} epochs, batches of {encoder.batch} pairs, seed "
        f"{settings.seed}. {queries:,} test queries, {candidates:,} candidates in the collection; {device}, {threads}."
    )


if __name__ == "__main__":
    with exit_on_user_error():
        main()
