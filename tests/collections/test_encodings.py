"""Texts in the code pages of Windows are read as they were written."""

import pytest

from genius.collections.encodings import code_page, decoded
from genius.collections.lines import LineError

TEXTS = {
    "cp1252": [
        "café",
        "Müller’s – Größe",
        "smørbrød på bordet",
        "São João, ação",
        "Vase “Ming” – 12 €",
        "à la carte",
    ],
    "cp1250": ["Dvořák", "żółty kwiat", "Łódź"],
    "cp1254": ["kırmızı çiçek"],
    "mac_roman": ["Müller", "café"],
    "cp850": ["Müller", "café"],
    "cp1251": ["Привет", "ВАЗА", "Їжак"],
    "cp1253": ["κόκκινο λουλούδι"],
    "cp1255": ["כלב אדום"],
    "cp1256": ["كلب أحمر"],
    "gb18030": ["红色的花", "狗"],
    "cp932": ["赤い花", "犬", "カメラ"],
    "big5": ["紅色的花"],
    "cp949": ["빨간 꽃"],
}


@pytest.mark.parametrize(
    "page, text", [(page, text) for page, texts in TEXTS.items() for text in texts]
)
def test_each_code_page_is_recognized_by_its_words(page, text):
    data = f"image,text\na.png,{text}\n".encode(page)
    assert code_page(data) == page and decoded(data, None) == (data.decode(page), page)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_unicode_is_read_without_a_word(encoding):
    assert decoded("a, ü, 狗".encode(encoding), None) == ("a, ü, 狗", "")


def test_what_is_no_text_is_refused_by_file_and_line(tmp_path):
    with pytest.raises(LineError, match="x:2: the line is not UTF-8"):
        decoded(b"\nab\xff\xd8\x01\x02", tmp_path / "x")
