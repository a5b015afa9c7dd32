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
from genius.index.item_source import read_item_source
from tests.collections.built import captions_of, read
from tests.collections.samples import encoded, photos, picture, written

WORDS = ["lighthouse", "sea"]


def plain() -> Image.Image:
    return Image.new("RGB", (8, 6), (7, 248, 0))


def with_iptc(jpeg: bytes, block: bytes) -> bytes:
    block = b"Photoshop 3.0\x008BIM\x04\x04\0\0" + struct.pack(">I", len(block)) + block
    return jpeg[:2] + b"\xff\xed" + struct.pack(">H", len(block) + 2) + block + jpeg[2:]


def iptc(*fields: tuple[int, bytes], xmp: str = "") -> bytes:
    """A JPEG; fields: numbers of record 2 and values, of even length together."""
    block = b"".join(struct.pack(">2sBH", b"\x1c\2", at, len(text)) + text for at, text in fields)
    return with_iptc(encoded(plain(), "JPEG", xmp=xmp.encode()), block + b"\0" * (len(block) % 2))


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
    texts = {0x010E: description, 0x010F: make, 0x0110: model}
    block.update({tag: text.encode() for tag, text in texts.items() if text})
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
    items = list(read_item_source(str(written(folder, {name: data})), 0).items())
    facts = json.loads(next(item.source for item in items if item.image and not item.text))
    return [item.text for item in items if item.text and not item.image], facts


@pytest.mark.parametrize(
    "name, data, text, origin",
    [
        ("a.jpg", iptc((25, b"sea"), (120, b"A tower")), "A tower", "IPTC"),
        ("a.jpg", iptc((120, "Ein Bär".encode())), "Ein Bär", "IPTC"),
        ("a.jpg", iptc((120, "Ein Bär am Fluß".encode("cp1252"))), "Ein Bär am Fluß", "IPTC"),
        ("a.jpg", iptc((25, b"sea"), (25, b"coast")), "sea, coast", "IPTC keywords"),
        ("a.jpg", iptc(xmp=packet("A tower", WORDS)), "A tower", "XMP"),
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
    xmp = packet("", ["Lighthouse"], ["places|coast|lighthouse"])
    data = iptc((25, b"storm"), (25, b"coast"), xmp=xmp)
    texts, facts = record_of(tmp_path, "a.jpg", data)
    assert facts["keywords"] == ["Lighthouse", "places", "coast", "storm"]
    assert texts == ["Lighthouse, places, coast, storm"]
    assert facts["caption from"] == "XMP and IPTC keywords"


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
    texts, facts = record_of(tmp_path, "IMG_0001.jpg", exif(description, make))
    assert texts == [] and "caption from" not in facts
    written(tmp_path, {"IMG_0001.xmp": packet(description)})  # a copy of it
    assert record_of(tmp_path, "IMG_0001.jpg", exif(description, make))[0] == []


@pytest.mark.parametrize("description", ["a digital camera on a table", "Sony", "lighthouse"])
def test_words_that_a_person_wrote_are_kept(tmp_path, description):
    texts, _ = record_of(tmp_path, "lighthouse.jpg", exif(description, "Canon"))
    assert texts == [description]


def test_the_date_and_the_camera_are_facts_that_no_query_asks_for(tmp_path):
    data = exif(make="Canon", model="Canon EOS 5D", taken="2019:08:01 10:20:30")
    texts, facts = record_of(tmp_path / "x", "a.jpg", data)
    known = {"id": "a.jpg", "date taken": "2019-08-01 10:20:30", "camera": "Canon EOS 5D"}
    assert texts == [] and facts == known
    (row,) = build([str(tmp_path / "x")], tmp_path / "built")
    assert row.task is None
    date = "exif:DateTimeOriginal='2020-02-03T04:05:06.7+01:00'"
    xmp = packet(attributes=f"tiff:Make='Nikon' tiff:Model='Z 6' {date}")
    _, facts = record_of(tmp_path / "y", "a.jpg", iptc(xmp=xmp))
    known = {"date taken": "2020-02-03 04:05:06", "camera": "Nikon Z 6"}
    assert facts == {"id": "a.jpg"} | known


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
    side = {below + side: json.dumps(TAKEOUT | {"title": image}, indent=indent)}
    files = {below + "metadata.json": json.dumps({"title": "2019"})} | side
    others = {below + "IMG_1(1).jpg": [], below + "other.jpg": []}
    source = read(tmp_path, [below + image, *others], files)
    assert captions_of(source) == {below + image: ["a red boat"]} | others
    facts = next(record.facts for record in source.records if record.image == below + image)
    assert facts["caption from"] == "Takeout" and facts["date taken"] == "2019-01-01 00:00:00"


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
    written(tmp_path, {"a.png.json": json.dumps(side)})
    texts, facts = record_of(tmp_path, "a.png", picture(1))
    assert texts == [text or "sea, boat"]
    assert facts["caption from"] == ("JSON" if text else "JSON keywords")


@pytest.mark.parametrize("name", ["a.png.xmp", "a.xmp", "a.XMP", "A.xmp"])
def test_an_xmp_file_is_read_with_its_picture(tmp_path, name):
    source = read(tmp_path, ["a.png", "b.png"], {name: packet("A tower", WORDS)})
    assert captions_of(source) == {"a.png": ["A tower"], "b.png": []}
    assert source.records[0].caption_from == ".xmp"
    assert [other.outcome for other in source.others] == ["used"]


def test_what_the_user_wrote_comes_first_then_files_beside_then_the_picture(tmp_path):
    inside = png(Description="inside")
    expected = {
        "a.xmp": (packet(words=["sea"]), "inside", "PNG text"),  # keywords come after a description
        "a.png.json": (json.dumps({"description": "json"}), "json", "JSON"),
        "a.XMP": (packet("xmp", ["sea"]), "xmp", ".xmp"),
        "a.txt": ("by hand", "by hand", None),
        "table.csv": ("image,text\na.png,of the table\n", "of the table", None),
    }
    for name, (said, text, origin) in expected.items():
        texts, facts = record_of(written(tmp_path, {name: said}), "a.png", inside)
        assert texts == [text] and facts.get("caption from") == origin
        assert facts["keywords"] == ["sea"]


def test_the_listing_says_where_captions_are_from(tmp_path):
    files = {"a.jpg": iptc((120, b"A tower")), "b.png.json": json.dumps(TAKEOUT)}
    folder = written(photos(tmp_path / "x", "b.png", "c.png"), files)
    said = str(build([str(folder)], tmp_path / "built")[-1])
    assert "1 file: caption from IPTC" in said and "1 file: caption from Takeout" in said
    table = (tmp_path / "built/files.tsv").read_text(encoding="utf-8")
    assert "x\ta.jpg\tcaption from IPTC\t\n" in table
    items = {item.text: item for item in Collection(tmp_path / "built").all_candidates()}
    assert json.loads(items["A tower"].source)["caption from"] == "IPTC"
    assert "1 file: caption from IPTC" in read_item_source(str(folder), 0).notes


def test_a_benchmark_is_made_of_its_table_alone(tmp_path):
    files = {
        "a.png": png(Description="inside"),
        "t.csv": "image,text\na.png,\nb.png,of the table\n",
    }
    folder = written(photos(tmp_path / "x", "b.png"), files)
    build([str(folder)], tmp_path / "built", benchmark=True)
    items = Collection(tmp_path / "built").all_candidates()
    assert {item.text for item in items} == {"", "of the table"}


BOMB = f"<!DOCTYPE x [<!ENTITY a 'boom'><!ENTITY b '{'&a;' * 9}'>]>{packet('&b;')}"


@pytest.mark.parametrize(
    "text", [BOMB, BOMB.encode("utf-16"), b"\xff" * 9, "<x>", "", packet("x" * 2**21)]
)
def test_xmp_that_may_do_harm_is_refused_and_said(tmp_path, text):
    source = read(tmp_path, ["a.png"], {"a.xmp": text})
    assert captions_of(source) == {"a.png": []}
    assert source.notes[0].startswith("1 files beside pictures cannot be read; the first: a.xmp: i")


@pytest.mark.parametrize(
    "data",
    [
        encoded(plain(), "WEBP", xmp=BOMB.encode()),
        encoded(plain(), "WEBP", xmp=b"x" * 2**22),
        encoded(plain(), "WEBP", exif=b"Exif\0\0" + b"II*\0\x08\0\0\0" + b"\xff" * 2**17),
        with_iptc(encoded(plain(), "JPEG"), b"\x1c\x02\x78\xff\xff\xffxxx"),
    ],
    ids=["entities", "large", "large exif", "iptc"],
)
def test_a_picture_with_damaged_metadata_is_used_and_said(tmp_path, data):
    texts, facts = record_of(tmp_path / "x", "a.webp", data)
    assert texts == [] and facts == {"id": "a.webp"}
    said = str(build([str(tmp_path / "x")], tmp_path / "built")[0])
    assert "1 file: used" in said
    assert "1 file: unreadable metadata; the first: a.webp: its " in said
