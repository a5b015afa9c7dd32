"""Files that speak about pictures whose names they do not have."""

import json

import pytest

from genius.collections.sources import read_source
from tests.collections.samples import photos
from tests.collections.test_archives import zipped

PICASA = """[Picasa]
name=Féte
[IMG 1 [a].PNG]
caption=100% of a tower = höhe: 3 %(x)s
keywords=sea, tower,Sea,
star=yes
faces=rect64(3f845bcb59418507),8e62398ebda8c1a5;
[.album:7]
name=Best
[b.png]
star=no
[b.png]
keywords=boat
[gone.png]
caption=nothing
[../c.png]
caption=outside
no value
"""


def said(source):
    return {
        record.image: (
            record.captions,
            record.caption_from,
            [said.keywords for said in record.said],
        )
        for record in source.records
    }


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize("name", [".picasa.ini", "Picasa.ini"])
def test_picasas_file_tells_captions_keywords_and_stars_of_its_folder(tmp_path, encoding, name):
    folder = photos(tmp_path / "x", "2009/Img 1 [a].png", "2009/b.png", "c.png", "gone.png")
    (folder / "2009" / name).write_text(PICASA, encoding=encoding)
    packed = [(str(file.relative_to(folder)), file.read_bytes()) for file in folder.rglob("*.*")]
    for place in (folder, zipped(tmp_path / "x.zip", packed)):
        source = read_source(place)
        assert said(source) == {
            "2009/Img 1 [a].png": (
                ["100% of a tower = höhe: 3 %(x)s"],
                "Picasa",
                [["sea", "tower"]],
            ),
            "2009/b.png": ([], "", [["boat"]]),
            "c.png": ([], "", []),
            "gone.png": ([], "", []),
        }
        assert source.records[0].facts["star"] == "yes" and "star" not in source.records[1].facts
        assert [other.outcome for other in source.others if other.file.endswith("ini")] == ["used"]


@pytest.mark.parametrize("data", [b"no section", b"\xff\xfe\0", b"[a.png]\n" + b"x" * 2**22])
def test_a_file_of_picasa_that_cannot_be_read_is_said(tmp_path, data):
    folder = photos(tmp_path / "x", "a.png")
    (folder / ".picasa.ini").write_bytes(data)
    source = read_source(folder)
    assert "1 files beside pictures cannot be read; the first: .picasa.ini: " in source.notes[0]
    assert len(source.notes) == 1 and "\n" not in source.notes[0] and not source.records[0].said


TAKEN = {"date_taken": "2009-08-01 10:20:30", "geo": [{"latitude": "1"}]}
TAGS = [{"tag": "sea", "user": "7"}, {"tag": "grey tower"}, "x", {"tag": 7}]


@pytest.mark.parametrize(
    "row, captions",
    [
        ({"name": "A tower", "description": ""}, ["A tower"]),
        (
            {"name": "A tower.", "description": "at <a href='x'>sea</a> &amp; \nland"},
            ["A tower. at sea & land"],
        ),
        ({"name": "IMG_1234", "description": "a boat"}, ["a boat"]),
        ({"name": "DSC01234.JPG"}, ["sea, grey tower"]),
        ({"name": "20090801_102030"}, ["sea, grey tower"]),
        ({"name": "1984", "description": {}}, ["1984"]),
        ({"name": "4006381333931"}, ["4006381333931"]),
    ],
)
@pytest.mark.parametrize("image", ["a-tower_30012345678_o.png", "30012345678_012cafe789_o.png"])
def test_flickrs_export_of_an_account_is_read(tmp_path, row, captions, image):
    other = "data-2/a-tower_30012345678_m.png"
    folder = photos(tmp_path / "x", f"data-1/{image}", other, "30012345679_o.png")
    file = folder / "part1/photo_30012345678.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"id": "30012345678", **row, **TAKEN, "tags": TAGS}))
    (folder / "part1/photo_30012345679.json").write_text("{")
    source = read_source(folder)
    records = {record.image: record for record in source.records}
    record = records.pop(f"data-1/{image}")
    record.hear([], last=True)  # as a picture that says nothing itself
    assert record.captions == captions and record.caption_from.startswith("Flickr")
    assert record.attributes == {"keywords": ["sea", "grey tower"]}
    assert record.facts["date taken"] == "2009-08-01 10:20:30"
    assert not any(other.said for other in records.values())
    assert source.notes == [
        "1 files beside pictures cannot be read; the first: part1/photo_30012345679.json: "
        "the file is not JSON (Expecting property name enclosed in double quotes at column 2)"
    ]


@pytest.mark.parametrize("place", ["", "content/", "your_instagram_activity/media/"])
def test_instagrams_export_of_an_account_is_read(tmp_path, place):
    names = [f"media/posts/200908/{letter}.png" for letter in "abcde"]
    folder = photos(tmp_path / "x", *(f"export/{name}" for name in names), "outside.png")
    stamp = {"creation_timestamp": 1249122030}
    posts = [
        {"media": [{"uri": names[0], "title": "Am Fluß 😁".encode().decode("latin-1"), **stamp}]},
        {"media": [{"uri": names[1]}, {"uri": names[2], "title": ""}], "title": "Fluß", **stamp},
        {"media": [{"uri": names[3], "title": "IMG_1234 \ud83d"}, 7, {"uri": 7}]},
        {"media": [{"uri": "../../../outside.png", "title": "outside"}, {"uri": "/etc/passwd"}]},
        {"media": 7},
        7,
    ]
    file = folder / "export" / place / "posts_1.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(posts))
    (folder / "posts_2.json").write_text("[" * 100_000)
    source = read_source(folder)
    found = [record.captions for record in source.records]
    assert found == [["Am Fluß 😁"], ["Fluß"], ["Fluß"], [], [], []]
    dates = [record.facts.get("date taken") for record in source.records]
    assert dates == ["2009-08-01 10:20:30"] * 3 + [None] * 3
    assert source.records[0].caption_from == "Instagram"
    assert source.notes[0].startswith("1 files beside pictures cannot be read; the first: posts_2")
