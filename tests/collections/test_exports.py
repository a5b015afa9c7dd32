"""Files that speak about pictures whose names they do not have."""

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
