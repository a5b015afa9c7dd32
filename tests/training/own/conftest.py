import pytest
from safetensors.torch import save_file

from genius.explore.code_names import CodeName, save_names
from genius.files import write_json
from genius.run import BUILT_FROM, Run
from tests.search.tiny import tiny_decoder, tiny_encoder, tiny_fusion, tiny_quantizer
from training import presets
from training.data import pseudo_queries


@pytest.fixture
def run(tmp_path):
    """Where a run is made."""
    return tmp_path / "run"


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """A shipped run, which has nothing but models, and a tokenizer in a folder of its own."""

    def write_encoder(encoder):
        tiny_encoder().save(encoder, half=True)
        (encoder / "text").mkdir()
        (encoder / "text" / "tokenizer.json").write_text("{}")

    save = {
        "encoder": write_encoder,
        "fusion": tiny_fusion().save,
        "quantizer": tiny_quantizer().save,
        "decoder": tiny_decoder(geometry=True).save,
        "names": lambda path: save_names({(0, 1): CodeName(("dog",), 5, 8, ("0:1",))}, path),
    }
    shipped = Run(tmp_path / "assets" / "photos")
    for part, write in save.items():
        shipped.publish(part, write, tuple(BUILT_FROM[part]))
    monkeypatch.setattr(presets, "PHOTO_RUN", shipped.path)
    words = ["dog", "snow", "ball", "tree", "red", "street"]
    monkeypatch.setattr(pseudo_queries, "visual_words", lambda: words)
    return shipped


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A model that open_clip loads as local-dir:FOLDER."""
    path = tmp_path_factory.mktemp("model")
    encoder = tiny_encoder()
    write_json(
        path / "open_clip_config.json",
        {"model_cfg": encoder.config.model, "preprocess_cfg": encoder.config.preprocess},
    )
    weights = {name: weight.contiguous() for name, weight in encoder.clip.state_dict().items()}
    save_file(weights, path / "open_clip_model.safetensors")
    return path
