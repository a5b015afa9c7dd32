"""The table has a row for each precision of the device, and float32 agrees with itself."""

import pytest
import torch

from genius.models.encoder import Encoder
from genius.runtime import tf32_products
from tests.search.tiny import tiny_encoder
from training.benchmarks import encoding_precision


@pytest.mark.parametrize("bf16", [False, True])
def test_every_precision_of_the_device_has_a_row_for_images_and_texts(bf16, monkeypatch, capsys):
    monkeypatch.setattr(encoding_precision, "computes_bf16", lambda device: bf16)
    monkeypatch.setattr(encoding_precision, "new_encoder", lambda settings: tiny_encoder())
    encoding_precision.main(["--batch", "3", "--device", "cpu"])
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
    rows = [line for line in lines if line[0] in ("float32", "TF32", "bfloat16")]
    assert [row[:2] for row in rows] == [
        [precision, kind] for precision in ("float32", "bfloat16")[: 1 + bf16] for kind in ("image", "text")
    ]
    assert [float(row[-1]) for row in rows[:2]] == [1, 1]
    assert all(0.98 < float(row[-1]) <= 1 for row in rows)


def test_a_gpu_also_computes_in_tf32():
    assert encoding_precision.precisions(torch.device("cpu")).get("TF32") is None
    assert encoding_precision.precisions(torch.device("cuda"))["TF32"] is tf32_products


def test_images_and_texts_are_as_long_as_the_encoder_reads():
    encoder = tiny_encoder()
    calls, seen = encoding_precision.draw_calls(encoder, 4), []
    encoder.encode_present = lambda encode, values, mask: (
        seen.append(values) or Encoder.encode_present(encoder, encode, values, mask)
    )
    with torch.inference_mode():
        assert len(calls["image"](2)) == 2 and len(calls["text"](4)) == 4
    shapes = [tuple(values.shape) for values in seen if len(values)]
    assert shapes[0][0] == 2 and shapes[1] == (4, encoder.tokenize(["x " * 500]).shape[1])
