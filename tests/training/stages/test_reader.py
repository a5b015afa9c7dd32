"""training/stages/reader.py on a tiny run: a part that searches use."""

import pytest
import torch

from genius.errors import UserError
from genius.models.reader import Reader
from genius.run import Run
from genius.schema import READINGS, Modality, Query
from genius.search.engine import Engine
from tests.search.tiny import tiny_encoder
from training.data.requests import Phrasing, labeled
from training.stages import reader

PHRASINGS = [
    Phrasing("own", False, "photo", "[{name}]"),
    Phrasing("own", False, "photo", "show me [{name}] without <{name}>"),
    Phrasing("own", True, "similar", "more of these"),
    Phrasing("own", True, "entry", "what is it"),
]


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(reader, "read_phrasings", lambda: PHRASINGS)
    monkeypatch.setattr(reader, "EPOCHS", 2)


def test_the_command_adds_a_reader_to_the_run_which_then_reads(path, collection, few, capsys):
    assert not Engine.load(path, "cpu").has_reader
    reader.main([str(collection.root), str(path), "--device", "cpu"])
    assert "held-out phrasings" in capsys.readouterr().out and Run(path).is_current("reader")
    engine = Engine.load(path, "cpu")
    result = engine.search(Query("a red boat"))
    assert engine.has_reader and result.reading.name in READINGS and "read" in result.milliseconds
    known = {text for texts in collection.instructions().values() for text in texts}
    assert set(engine.retriever._request_reader.reader.config.instructions.values()) <= known


def test_what_is_learned_tells_readings_and_words_apart(monkeypatch):
    requests = [
        labeled(Phrasing("own", picture, reading, ""), words)
        for picture, reading, words in (
            (False, "photo", "[red boat]"),
            (False, "photo", "show [cat] without <dog>"),
            (True, "similar", "more of these"),
            (True, "entry", "what is it"),
        )
    ]
    examples = reader.Examples.encode(tiny_encoder(), requests * 40)
    torch.manual_seed(0)
    model = Reader(reader.ReaderConfig(examples.states[0].shape[1], 32))
    monkeypatch.setattr(reader, "EPOCHS", 40)
    reader.fit(model, examples, 0)
    states, mask, picture, right, tags = examples.batch(torch.arange(4))
    with torch.inference_mode():
        readings, of_words = model(states, mask, picture)
    assert right[torch.arange(4), readings.argmax(1)].all()
    assert (of_words.argmax(-1)[mask] == tags[mask]).float().mean() > 0.9


def test_a_folder_that_is_no_run_is_refused(tmp_path, collection):
    with pytest.raises(UserError, match="is not a run"):
        reader.train(collection.root, tmp_path / "nowhere", "cpu")


def test_the_sentence_of_a_reading_is_of_the_row_with_most_candidates(monkeypatch):
    model = Reader(reader.ReaderConfig(32, 4)).eval()
    place = list(READINGS).index("entry")
    sure = torch.full((1, len(READINGS)), -9.0)
    sure[0, place] = -0.01
    monkeypatch.setattr(
        model, "forward", lambda states, mask, picture: (sure.expand(len(mask), -1), None)
    )
    instructions = {
        (0, Modality.IMAGE, Modality.TEXT): ["Name it."],
        (1, Modality.IMAGE, Modality.TEXT): ["Look it up."],
        (1, Modality.IMAGE, Modality.IMAGE): ["Find more."],
    }
    held = {(0, Modality.TEXT): 5, (1, Modality.TEXT): 9, (1, Modality.IMAGE): 99}
    known = reader.known_instructions(model, tiny_encoder(), instructions, held)
    assert known == {"image entry": "Look it up."}
