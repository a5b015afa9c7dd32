"""genius/evaluation/speed/whole_query.py on the micro run."""

import shutil

from genius.evaluation.speed import whole_query
from genius.evaluation.speed.whole_query import main
from genius.reading import read_json


def test_the_command_times_every_stage_with_pictures_that_the_engine_does_not_know(run, tmp_path, monkeypatch):
    run = shutil.copytree(run, tmp_path / "run")  # other tests read its reports
    monkeypatch.setattr(whole_query, "ROUNDS", 2)
    passed, search = [], whole_query.Engine.search
    monkeypatch.setattr(
        whole_query.Engine, "search", lambda engine, queries: passed.extend(queries) or search(engine, queries)
    )

    main([str(run), "--device", "cpu"])

    stages = read_json(run / "reports" / "whole_query.json", dict)["stages"]
    assert {"text tower", "search, set", "whole query: picture and text"} <= set(stages)
    assert all(times["rounds"] == 2 and 0 < times["least"] <= times["median"] for times in stages.values())
    pictures = [query.image.tobytes() for query in passed if query.image and query.text]
    assert len(set(pictures)) == len(pictures) == 3  # one to warm up
    assert "whole query: picture and text" in (run / "reports" / "whole_query.md").read_text()
