import json

import open_clip
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from safetensors.torch import save_file

from genius.errors import UserError
from genius.models.encoder import Encoder, normalise_text, query_text
from tests.search.tiny import tiny_encoder


def picture(colour: str) -> Image.Image:
    return Image.new("RGB", (40, 30), colour)


@pytest.mark.parametrize(("raw", "normal"), [
    ("a red dog", "A red dog."), ('  "quoted"  ', "Quoted."), ("why?", "Why?"), ("Done!", "Done!"),
    ("", ""), (" \r\n ", ""), ('""', ""), ("two\r lines", "Two lines.")])
def test_texts_take_the_form_that_m_beir_models_were_trained_on(raw, normal):
    assert normalise_text(raw) == normal


def test_the_instruction_comes_before_what_the_person_wrote():
    assert query_text("find a photo.", "a red dog") == "Find a photo. a red dog."
    assert query_text("find a photo", "") == "Find a photo."
    assert query_text("", "a red dog") == "A red dog."


def test_an_embedding_is_the_normalised_sum_of_what_is_there():
    encoder = tiny_encoder()
    both, image, text = (encoder.encode([image], [text]) for image, text in (
        (picture("red"), "a dog"), (picture("red"), ""), (None, "a dog")))

    torch.testing.assert_close(both.image, image.image)
    torch.testing.assert_close(both.text, text.text)
    torch.testing.assert_close(both.embedding(), F.normalize(both.image + both.text, dim=-1))
    torch.testing.assert_close(image.embedding(), F.normalize(image.image, dim=-1))
    assert (both.image_mask.item(), both.text_mask.item()) == (True, True)
    assert (image.image_mask.item(), image.text_mask.item()) == (True, False)
    assert not image.text.any() and not text.image.any()


def test_a_batch_gives_what_each_thing_alone_gives():
    encoder = tiny_encoder()
    images, texts = [None, picture("red"), picture("blue")], ["a dog", "", "a cat"]

    together = encoder.encode(images, texts).embedding()

    alone = [encoder.encode([image], [text]).embedding() for image, text in zip(images, texts, strict=True)]
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-6, rtol=1e-5)


def test_features_are_those_of_open_clip_itself():
    encoder = tiny_encoder()
    features = encoder.encode([picture("green")], ["A tree."])

    with torch.inference_mode():
        image = encoder.clip.encode_image(encoder.preprocess([picture("green")]))
        text = encoder.clip.encode_text(encoder.tokenize(["A tree."]))

    torch.testing.assert_close(features.image, image)
    torch.testing.assert_close(features.text, text)


def test_a_saved_encoder_comes_back_the_same(tmp_path):
    encoder = tiny_encoder()
    encoder.save(tmp_path)

    loaded = Encoder.load(tmp_path)

    assert not loaded.training
    torch.testing.assert_close(loaded.encode([picture("red")], ["x"]).embedding(),
                               encoder.encode([picture("red")], ["x"]).embedding(), atol=0, rtol=0)


def test_a_damaged_part_is_refused_in_one_sentence(tmp_path):
    tiny_encoder().save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"surprise": 1}))
    with pytest.raises(UserError, match="surprise.*train this part again"):
        Encoder.load(tmp_path)

    (tmp_path / "config.json").write_text(json.dumps(config))
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(UserError, match="cannot be loaded"):
        Encoder.load(tmp_path)


def test_an_architecture_that_open_clip_lacks_is_refused_in_one_sentence():
    with pytest.raises(UserError, match="open_clip cannot give NoSuch-Net"):
        Encoder.from_open_clip("NoSuch-Net", "openai")


def test_a_local_checkpoint_of_an_open_clip_architecture_is_taken_as_it_is(tmp_path):
    torch.manual_seed(3)
    source = open_clip.create_model("ViT-S-32-alt")
    save_file({name: tensor.contiguous() for name, tensor in source.state_dict().items()},
              tmp_path / "weights.safetensors")

    encoder = Encoder.from_open_clip("ViT-S-32-alt", str(tmp_path / "weights.safetensors"))

    pixels = encoder.preprocess([picture("red")])
    with torch.inference_mode():
        torch.testing.assert_close(encoder.clip.encode_image(pixels), source.eval().encode_image(pixels))
