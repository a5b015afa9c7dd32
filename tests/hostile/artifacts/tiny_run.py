"""A tiny run with a file of every kind, and everything that it answers."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import torch
from open_clip.transform import PreprocessCfg
from PIL import Image
from transformers import BertConfig, BertTokenizer

from genius.encoding.quantize import reconstruction_errors
from genius.examples import read_examples
from genius.explore import code_names
from genius.explore.code_names import CodeName, save_names
from genius.explore.map_data import PART, read_maps
from genius.explore.report_tables.report_data import from_report
from genius.explore.report_tables.retrieval_tables import pool_names, retrieval_note
from genius.explore.report_tables.speed_tables import speed_note, speed_tables
from genius.explore.report_tables.training_tables import health_note, health_tables, training_note, training_tables
from genius.files import describe
from genius.index import update, writing
from genius.index.drift import DriftReport
from genius.index.item_source import uploaded_items
from genius.models.encoder import Encoder
from genius.models.encoder_config import EncoderConfig
from genius.run import BUILT_FROM, Run, digest_of
from genius.schema import Modality, Query, SearchOptions
from genius.search.engine import Engine
from genius.search.ood_detector import OODDetector, texture
from genius.ui.common.about import About
from tests.explore.report_tables.sample_reports import write_reports
from tests.search import tiny
from tests.ui.fake_maps import fake_maps

ITEMS, ADDED = 78, 3  # 52 of the first have an image, enough for a detector
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "a", "find", "the", "picture", *tiny.WORDS]
MODES = ("exact", "set", "fast")
HASHED = 2**28  # bytes; a larger file gets a made-up checksum
REPORTS = {
    "retrieval": lambda report: [retrieval_note(report), pool_names(report)],
    "training": lambda report: [training_note(report), training_tables(report)],
    "health": lambda report: [health_note(report), health_tables(report)],
    "speed": lambda report: [speed_note(report), speed_tables(report, None)],
}


def write_run(path: Path) -> Path:
    """Two segments, some removed items, a Hugging Face text tower, a pool file, maps, reports and examples."""
    pictures = path / "pictures"
    pictures.mkdir(parents=True)
    encoder = tiny_encoder(path.parent / "text tower")
    fusion, quantizer, decoder = tiny.tiny_fusion(), tiny.tiny_quantizer(), tiny.tiny_decoder(geometry=True)
    items = tiny.tiny_items(ITEMS, pictures)
    images = [Image.open(pictures / item.image).convert("RGB") if item.image else None for item in items]
    features = encoder.encode(images, [item.text for item in items])
    with torch.inference_mode():
        z = fusion(features)
        codes = quantizer.encode(z, torch.tensor([item.modality for item in items])).numpy()
    textures = np.array([texture(image) for image in images if image])

    def write(folder: Path) -> None:
        writing.write_index(
            folder,
            items,
            codes,
            features.embedding().numpy(),
            quantizer.config.code_sizes,
            image_path=pictures.joinpath,
            instructions=tiny.INSTRUCTIONS,
            errors=reconstruction_errors(z.numpy(), codes, quantizer),
        )
        OODDetector.fit([textures], textures).save(folder)

    run = Run(path)
    tiny.publish_parts(run, encoder, fusion, quantizer, decoder, write)
    uploads = [("a red boat", None), ("", pictures / "0.png"), ("a blue cat", pictures / "2.png")]
    update.add(path, lambda dataset: uploaded_items(uploads, dataset), update.Models.load(path, "cpu"))
    update.remove(path, ["0:5", "0:40"])
    maps = fake_maps([item.id for item in items[:39]], tiny.LEVELS)
    Run(path).publish(PART, maps.save, ("fusion", "quantizer"))
    names = {(0,): CodeName((), ("0:0",)), (1, 2): CodeName(("dog", "boat"), ())}
    Run(path).publish(code_names.PART, partial(save_names, names), ("encoder", "fusion", "quantizer"))
    write_reports(path)
    write_examples(path / "examples", images[0])
    (path / "CREDITS.md").write_text("# Credits\n\nAll of this was made by a test.\n")
    about = {"title": "Noise", "paragraphs": ["Colored noise."], "ask": ["Find the picture."]}
    current = {entry["folder"] for entry in Run(path).manifest["parts"].values()}
    for folder in [*path.glob("index-*"), path / "features", pictures]:
        if folder.name not in current:
            shutil.rmtree(folder, ignore_errors=True)
    Run(path).record(collection="noise", preset="small", settings={"seed": 0}, stages={}, about=about)
    return path


def tiny_encoder(tower: Path) -> Encoder:
    """A vision transformer and a BERT. tower: a folder for the files of the latter."""
    torch.manual_seed(0)
    tower.mkdir()
    (tower / "vocab.txt").write_text("\n".join(VOCABULARY))
    BertTokenizer(str(tower / "vocab.txt")).save_pretrained(tower)
    BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24
    ).save_pretrained(tower)
    vision = {"image_size": 32, "layers": 1, "width": 16, "head_width": 8, "patch_size": 16}
    text = {"context_length": 16, "hf_model_name": str(tower), "hf_tokenizer_name": str(tower)}
    text |= {"hf_model_pretrained": False, "hf_pooler_type": "mean_pooler", "hf_proj_type": "linear"}
    model = {"embed_dim": tiny.DIM, "custom_text": True, "vision_cfg": vision, "text_cfg": text}
    return Encoder(EncoderConfig(model, asdict(PreprocessCfg(size=32)))).eval()


def write_examples(folder: Path, picture: Image.Image) -> None:
    folder.mkdir()
    picture.save(folder / "noise.webp", lossless=True)
    asked = [{"instruction": "Find the picture.", "target": "image"}]
    examples = [{"title": "Noise", "text": "a red cat", "picture": "noise.webp", "asked": asked}]
    (folder / "examples.json").write_text(json.dumps(examples))


def seal(path: Path, chain: bool = True) -> None:
    """Make the manifest fit the files: their checksums and, with chain, the digests, folders and parts built from."""
    file = path / "manifest.json"
    manifest = json.loads(file.read_text())
    digests: dict[str, str] = {}
    for part in BUILT_FROM:
        if part not in manifest["parts"]:  # a run may lack a ranker
            continue
        entry = manifest["parts"][part]
        folder = path / entry["folder"]
        large = [name for name in folder.rglob("*") if name.is_file() and name.stat().st_size > HASHED]
        described = {str(one.relative_to(folder)): {"bytes": one.stat().st_size, "sha256": "0" * 64} for one in large}
        for name in large:
            name.rename(path / "large")  # not read
        entry["files"] = dict(sorted((describe(folder) | described).items()))
        for name in large:
            (path / "large").rename(name)
        if chain:
            entry["digest"] = digests[part] = digest_of(entry["files"])
            entry["folder"] = f"{part}-{entry['digest'][:8]}"
            entry["built_from"] = {other: digests[other] for other in entry["built_from"]}
            folder.rename(path / entry["folder"])
    file.unlink()  # it may be a link to that of another run
    file.write_text(json.dumps(manifest))


def answers(path: Path) -> str:
    """A checksum of all that a run answers and shows but its reports, examples and texts about itself, which are read.

    Raises UserError for a run that is refused.
    """
    engine, numbers = Engine.load(path, "cpu"), hashlib.sha256()
    picture = Image.new("RGB", (40, 30), (200, 30, 90))
    queries = [Query("a red cat"), Query("", picture, "find the picture"), Query("blue", picture)]
    for mode in MODES:
        for query in queries:
            options = SearchOptions(beams=4, k=5, mode=mode, trace=mode == "exact")
            (result,) = engine.search([query], options)
            for hit in result.hits:
                numbers.update(repr(hit).encode())
            numbers.update(repr((result.generated, result.query_codes, result.out_of_distribution)).encode())
            numbers.update(result.z.tobytes() + result.embedding.tobytes())
    index = engine.index
    items = index.items(range(index.n))
    numbers.update(repr((items, index.rows_of([item.id for item in items]).tolist(), index.instructions)).encode())
    numbers.update(repr([index.thumbnail(row) for row in range(index.n)]).encode())
    numbers.update(repr((DriftReport.of(index), index.records.datasets())).encode())
    for modality in Modality:
        engine.versions.current.pool_of(modality)
    if (maps := read_maps(path)) is not None:
        numbers.update(maps.places.tobytes() + maps.keys.tobytes())
        numbers.update(repr((maps.views, maps.queries, maps.names, maps.split, maps.health)).encode())
        maps.points([answer for query in maps.queries for answer in query.answers])
    names = code_names.read_names(path)
    numbers.update(repr(names and sorted(names.items())).encode())
    read_examples(path)
    About.read(path, Run(path).manifest)
    for name, draw in REPORTS.items():
        from_report(path, name, draw)
    return numbers.hexdigest()
