"""What pictures and folders say about themselves: inside files and beside them, and what is told of
it.
"""

import json
import struct
from collections.abc import Sequence

import pytest
from PIL import Image, PngImagePlugin

from genius.collections.building import build
from genius.collections.mbeir import Collection
from genius.collections.sources import read_source
from genius.index.item_source import read_item_source
from tests.collections.samples import encoded, photos, picture

WORDS = ["lighthouse", "sea"]


def plain(shade: int = 7) -> Image.Image:
    return Image.new("RGB", (8, 6), (shade, 255 - shade, 0))


def segment(marker: int, data: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def with_segment(jpeg: bytes, marker: int, data: bytes) -> bytes:
    return jpeg[:2] + segment(marker, data) + jpeg[2:]


def iptc(*fields: tuple[int, bytes]) -> bytes:
    """A JPEG; fields: numbers of record 2 and values."""
    block = b"".join(
        b"\x1c\x02" + bytes([number]) + struct.pack(">H", len(text)) + text
        for number, text in fields
    )
    block = (
        b"Photoshop 3.0\x008BIM\x04\x04\0\0"
        + struct.pack(">I", len(block))
        + block
        + b"\0" * (len(block) % 2)
    )
    return with_segment(encoded(plain(), "JPEG"), 0xED, block)


def bag(tag: str, words: list[str]) -> str:
    return (
        f"<{tag}><rdf:Bag>{''.join(f'<rdf:li>{word}</rdf:li>' for word in words)}</rdf:Bag></{tag}>"
    )


def packet(
    text: str = "", words: Sequence[str] = (), hierarchy: Sequence[str] = (), attributes: str = ""
) -> str:
    german = "<rdf:li xml:lang='de'>Ein Turm</rdf:li>"
    texts = f"{german}<rdf:li xml:lang='x-default'>{text}</rdf:li>" if text else ""
    return (
        "<x:xmpmeta xmlns:x='adobe:ns:meta/' "
        "xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:RDF>"
        "<rdf:Description xmlns:dc='http://purl.org/dc/elements/1.1/' "
        "xmlns:lr='http://ns.adobe.com/lightroom/1.0/' "
        "xmlns:tiff='http://ns.adobe.com/tiff/1.0/' "
        f"xmlns:exif='http://ns.adobe.com/exif/1.0/' {attributes}>"
        f"<dc:description><rdf:Alt>{texts}</rdf:Alt></dc:description>"
        f"{bag('dc:subject', words)}{bag('lr:hierarchicalSubject', hierarchy)}"
        "</rdf:Description></rdf:RDF></x:xmpmeta>"
    )


def exif(
    description: str = "", make: str = "", model: str = "", words: str = "", taken: str = ""
) -> bytes:
    block = Image.Exif()
    block.update(
        {
            tag: text.encode()
            for tag, text in ((0x010E, description), (0x010F, make), (0x0110, model))
            if text
        }
    )
    if words:
        block[0x9C9E] = words.encode("utf-16-le")
    if taken:
        block.get_ifd(0x8769)[0x9003] = taken
    return encoded(plain(), "JPEG", exif=block)


def png(behind: bool = False, **texts: str) -> bytes:
    """behind: the texts stand behind the pixels, where some programs write them."""
    info = PngImagePlugin.PngInfo()
    for key, text in texts.items():
        info.add_itxt("XML:com.adobe.xmp" if key == "xmp" else key, text, zip=False)
    data = encoded(plain(), pnginfo=info)
    if not behind:
        return data
    start = data.index(b"iTXt") - 4
    pixels = data.index(b"IDAT") - 4
    return data[:start] + data[pixels:-12] + data[start:pixels] + data[-12:]


def record_of(folder, name: str, data: bytes):
    """The candidates of a folder with one picture: its captions, and the facts of the picture."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    items = list(read_item_source(str(folder), 0).items())
    facts = json.loads(next(item.source for item in items if item.image and not item.text))
    return [item.text for item in items if item.text and not item.image], facts


@pytest.mark.parametrize(
    "name, data, text, origin",
    [
        ("a.jpg", iptc((25, b"sea"), (120, b"A tower")), "A tower", "IPTC"),
        ("a.jpg", iptc((120, "Ein Bär".encode())), "Ein Bär", "IPTC"),
        ("a.jpg", iptc((120, "Ein Bär am Fluß".encode("cp1252"))), "Ein Bär am Fluß", "IPTC"),
        ("a.jpg", iptc((25, b"sea"), (25, b"coast")), "sea, coast", "IPTC keywords"),
        (
            "a.jpg",
            encoded(plain(), "JPEG", xmp=packet("A tower", WORDS).encode()),
            "A tower",
            "XMP",
        ),
        ("a.webp", encoded(plain(), "WEBP", xmp=packet("A tower").encode()), "A tower", "XMP"),
        ("a.png", png(xmp=packet("A tower")), "A tower", "XMP"),
        ("a.png", png(behind=True, xmp=packet("A tower")), "A tower", "XMP"),
        ("a.jpg", exif("A tower"), "A tower", "EXIF"),
        ("a.jpg", exif("Ein Bär"), "Ein Bär", "EXIF"),
        ("a.jpg", exif(words="sea;coast"), "sea, coast", "EXIF keywords"),
        ("a.tif", encoded(plain(), "TIFF", description="A tower"), "A tower", "EXIF"),
        ("a.png", png(Description="A tower"), "A tower", "PNG text"),
        ("a.png", png(behind=True, Description="A tower"), "A tower", "PNG text"),
        (
            "a.png",
            png(parameters="a tower, dawn\nNegative prompt: blur\nSteps: 20"),
            "a tower, dawn",
            "PNG text",
        ),
    ],
)
def test_what_a_file_says_inside_is_its_caption(tmp_path, name, data, text, origin):
    texts, facts = record_of(tmp_path / "x", name, data)
    assert texts == [text] and facts["caption from"] == origin


def test_keywords_of_all_origins_are_one_list(tmp_path):
    data = encoded(
        plain(), "JPEG", xmp=packet("", ["Lighthouse"], ["places|coast|lighthouse"]).encode()
    )
    block = iptc((25, b"storm"), (25, b"coast"))
    start = block.index(b"Photoshop")
    data = with_segment(
        data, 0xED, block[start : start + struct.unpack(">H", block[start - 2 : start])[0] - 2]
    )
    texts, facts = record_of(tmp_path / "x", "a.jpg", data)
    assert facts["keywords"] == ["Lighthouse", "places", "coast", "storm"]
    assert (
        texts == ["Lighthouse, places, coast, storm"]
        and facts["caption from"] == "XMP and IPTC keywords"
    )


@pytest.mark.parametrize(
    "description, make",
    [
        ("OLYMPUS DIGITAL CAMERA         ", ""),
        ("SONY DSC", ""),
        ("SAMSUNG", "samsung"),
        ("KONICA MINOLTA DIGITAL CAMERA", ""),
        ("DCIM\\100MEDIA\\DJI_0001.JPG", "DJI"),
        ("Exif_JPEG_PICTURE", ""),
        ("oznor", "HUAWEI"),
        ("IMG_0001", ""),
    ],
)
def test_a_default_of_a_camera_is_no_caption(tmp_path, description, make):
    texts, facts = record_of(tmp_path / "x", "IMG_0001.jpg", exif(description, make))
    assert texts == [] and "caption from" not in facts
    xmp = (
        "<x xmlns:dc='http://purl.org/dc/elements/1.1/'>"
        f"<dc:description>{description}</dc:description></x>"
    )
    (tmp_path / "x" / "IMG_0001.xmp").write_text(xmp)  # a copy of it
    assert record_of(tmp_path / "x", "IMG_0001.jpg", exif(description, make))[0] == []


@pytest.mark.parametrize("description", ["a digital camera on a table", "Sony", "lighthouse"])
def test_words_that_a_person_wrote_are_kept(tmp_path, description):
    assert record_of(tmp_path / "x", "lighthouse.jpg", exif(description, "Canon"))[0] == [
        description
    ]


def test_the_date_and_the_camera_are_facts_that_no_query_asks_for(tmp_path):
    data = exif(make="Canon", model="Canon EOS 5D", taken="2019:08:01 10:20:30")
    texts, facts = record_of(tmp_path / "x", "a.jpg", data)
    assert texts == [] and facts == {
        "id": "a.jpg",
        "date taken": "2019-08-01 10:20:30",
        "camera": "Canon EOS 5D",
    }
    (row,) = build([str(tmp_path / "x")], tmp_path / "built")
    assert row.task is None
    attributes = (
        "tiff:Make='Nikon' tiff:Model='Z 6' exif:DateTimeOriginal='2020-02-03T04:05:06.7+01:00'"
    )
    _, facts = record_of(
        tmp_path / "y",
        "a.webp",
        encoded(plain(), "WEBP", xmp=packet(attributes=attributes).encode()),
    )
    assert facts == {"id": "a.webp", "date taken": "2020-02-03 04:05:06", "camera": "Nikon Z 6"}


TAKEOUT = {"title": "x", "description": "a red boat", "photoTakenTime": {"timestamp": "1546300800"}}
LONG = "IMG_20190101_holiday_at_the_sea_with_friends_1"


@pytest.mark.parametrize(
    "image, side",
    [
        ("IMG_1.JPG", "IMG_1.JPG.supplemental-metadata.json"),
        ("IMG_1.jpg", "IMG_1.jpg.supplemental-meta.json"),
        ("IMG_1.jpg", "IMG_1.jpg.s.json"),
        ("IMG_1.jpg", "IMG_1.jpg..json"),
        ("IMG_1.jpg", "IMG_1.jpg.json"),
        ("IMG_1.jpg", "IMG_1.json"),
        ("IMG_1.JPG", "IMG_1.HEIC.supplemental-metadata.json"),
        (f"{LONG}.jpg", f"{LONG}.jp.json"),
        (f"{LONG}.jpg", f"{LONG}.json"),
        (f"{LONG}_and_more.jpg", f"{LONG}.json"),
        ("IMG_1(2).jpg", "IMG_1.jpg(2).json"),
        ("IMG_1(2).jpg", "IMG_1.jpg.supplemental-metadata(2).json"),
        ("IMG_E1.JPG", "IMG_1.HEIC.supplemental-metadata.json"),
        ("IMG_1-edited.jpg", "IMG_1.jpg.supplemental-metadata.json"),
        ("IMG_1-bearbeitet(2).jpg", "IMG_1.jpg(2).json"),
    ],
)
@pytest.mark.parametrize("below", ["", "Takeout/Google Photos/2019/"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_of_takeout_is_the_caption_of_its_picture_alone(
    tmp_path, image, side, below, indent
):
    folder = photos(tmp_path / "x", below + image, below + "IMG_1(1).jpg", below + "other.jpg")
    (folder / below / side).write_text(json.dumps(TAKEOUT | {"title": image}, indent=indent))
    (folder / below / "metadata.json").write_text(json.dumps({"title": "2019"}))
    records = {record.image: record for record in read_source(folder).records}
    assert {name: record.captions for name, record in records.items() if record.captions} == {
        below + image: ["a red boat"]
    }
    facts = records[below + image].facts
    assert (facts["caption from"], facts["date taken"]) == (
        "Takeout",
        "2019-01-01 00:00:00",
    ) and len(records) == 3


@pytest.mark.parametrize(
    "side, text",
    [
        ({"filename": "a", "description": "a boat", "tags": ["sea"]}, "a boat"),  # gallery-dl
        # img2dataset
        ({"caption": "a boat", "url": "https://x.y/a.png", "status": "success"}, "a boat"),
        # exiftool
        (
            [{"SourceFile": "a.png", "XMP:Description": "a boat", "IPTC:Keywords": ["sea"]}],
            "a boat",
        ),
        ({"tags": ["sea", "boat", 7]}, None),
    ],
)
def test_json_of_other_programs_beside_a_picture_is_read(tmp_path, side, text):
    folder = photos(tmp_path / "x", "a.png", "b.png")
    (folder / "a.png.json").write_text(json.dumps(side))
    (row,) = {str(row) for row in build([str(folder)], tmp_path / "built") if row.notes}
    found = {item.text for item in Collection(tmp_path / "built").all_candidates()} - {""}
    assert found == {text or "sea, boat"} and ("caption from JSON keywords" in row) == (
        text is None
    )


def test_a_json_list_of_all_pictures_is_still_a_table(tmp_path):
    folder = photos(tmp_path / "x", "a.png", "b.png")
    (folder / "captions.json").write_text(
        json.dumps([{"image": f"{name}.png", "caption": name} for name in "ab"])
    )
    assert [record.captions for record in read_source(folder).records] == [["a"], ["b"]]


@pytest.mark.parametrize("name", ["a.png.xmp", "a.xmp", "a.XMP", "A.xmp"])
def test_an_xmp_file_is_read_with_its_picture(tmp_path, name):
    folder = photos(tmp_path / "x", "a.png", "b.png")
    (folder / name).write_text(packet("A tower", WORDS))
    first, second = read_source(folder).records
    assert first.captions == ["A tower"] and first.caption_from == ".xmp" and not second.captions
    assert [other.outcome for other in read_source(folder).others] == ["used"]


def test_what_the_user_wrote_comes_first_then_files_beside_then_the_picture(tmp_path):
    folder = photos(tmp_path / "x", "b.png")
    (folder / "a.png").write_bytes(png(Description="inside"))
    for name, text in (
        ("a.png.json", json.dumps({"description": "json"})),
        ("a.xmp", packet("xmp", ["sea"])),
        ("a.txt", "by hand"),
    ):
        texts, facts = record_of(folder, "a.png", png(Description="inside"))
        (folder / name).write_text(text)
        assert (texts, facts["caption from"]) == {
            "a.png.json": (["inside"], "PNG text"),
            "a.xmp": (["json"], "JSON"),
            "a.txt": (["xmp"], ".xmp"),
        }[name]
    texts, facts = record_of(folder, "a.png", png(Description="inside"))
    assert texts == ["by hand"] and "caption from" not in facts and facts["keywords"] == ["sea"]
    (folder / "a.txt").unlink()
    (folder / "table.csv").write_text("image,text\na.png,of the table\nb.png,\n")
    assert record_of(folder, "a.png", png(Description="inside"))[0] == ["of the table"]


def test_a_description_inside_comes_before_keywords_beside(tmp_path):
    folder = photos(tmp_path / "x", "a.png")
    (folder / "a.xmp").write_text(packet("", ["sea"]))
    texts, facts = record_of(folder, "a.png", png(Description="inside"))
    assert texts == ["inside"] and facts["keywords"] == ["sea"]


def test_the_listing_says_where_captions_are_from(tmp_path):
    folder = photos(tmp_path / "x", "b.png", "c.png")
    (folder / "a.jpg").write_bytes(iptc((120, b"A tower")))
    (folder / "b.png.json").write_text(json.dumps(TAKEOUT))
    rows = build([str(folder)], tmp_path / "built")
    said = "\n".join(map(str, rows))
    assert "1 file: caption from IPTC" in said and "1 file: caption from Takeout" in said
    assert "x\ta.jpg\tcaption from IPTC\t\n" in (tmp_path / "built/files.tsv").read_text(
        encoding="utf-8"
    )
    items = {item.text: item for item in Collection(tmp_path / "built").all_candidates()}
    assert json.loads(items["A tower"].source)["caption from"] == "IPTC"
    assert "1 file: caption from IPTC" in read_item_source(str(folder), 0).notes


def test_a_benchmark_is_made_of_its_table_alone(tmp_path):
    folder = tmp_path / "x"
    folder.mkdir()
    for shade, name in enumerate("ab"):
        (folder / f"{name}.png").write_bytes(picture(shade))
    (folder / "a.png").write_bytes(png(Description="inside"))
    (folder / "table.csv").write_text("image,text\na.png,\nb.png,of the table\n")
    build([str(folder)], tmp_path / "built", benchmark=True)
    assert {item.text for item in Collection(tmp_path / "built").all_candidates()} == {
        "",
        "of the table",
    }


BOMB = f"<!DOCTYPE x [<!ENTITY a 'boom'><!ENTITY b '{'&a;' * 9}'>]>{packet('&b;')}"


@pytest.mark.parametrize(
    "text", [BOMB, BOMB.encode("utf-16"), b"\xff" * 9, "<x>", "", packet("x" * 2**21)]
)
def test_xmp_that_may_do_harm_is_refused_and_said(tmp_path, text):
    data = text if isinstance(text, bytes) else text.encode()
    folder = photos(tmp_path / "x", "a.png")
    (folder / "a.xmp").write_bytes(data)
    source = read_source(folder)
    assert source.records[0].captions == []
    assert source.notes[0].startswith("1 files beside pictures cannot be read; the first: a.xmp: i")


@pytest.mark.parametrize(
    "data",
    [
        encoded(plain(), "WEBP", xmp=BOMB.encode()),
        encoded(plain(), "WEBP", xmp=b"x" * 2**22),
        encoded(plain(), "WEBP", exif=b"Exif\0\0" + b"II*\0\x08\0\0\0" + b"\xff" * 2**17),
        with_segment(
            encoded(plain(), "JPEG"),
            0xED,
            b"Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\x09\x1c\x02\x78\xff\xff\xffxxx",
        ),
    ],
    ids=["entities", "large", "large exif", "iptc"],
)
def test_a_picture_with_damaged_metadata_is_used_and_said(tmp_path, data):
    folder = tmp_path / "x"
    texts, facts = record_of(folder, "a.webp", data)
    assert texts == [] and facts == {"id": "a.webp"}
    (row,) = build([str(folder)], tmp_path / "built")
    assert "1 file: used" in str(
        row
    ) and "1 file: unreadable metadata; the first: a.webp: its " in str(row)
