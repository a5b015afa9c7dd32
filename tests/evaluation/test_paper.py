"""genius/evaluation/paper.py: the figures add up to the averages that the paper gives."""

from statistics import fmean

import pytest

from genius.evaluation.paper import ROWS, TABLE_1, TABLE_2, TABLE_8, TABLE_9, TABLES


def averages(paper):
    return [fmean(column) for column in zip(*paper.figures.values(), strict=True)]


def test_averages_are_those_that_the_paper_prints():
    clip, blip, *generated = averages(TABLE_2)
    assert generated == pytest.approx([28.8, 38.3], abs=0.06)
    assert clip == pytest.approx(48.9, abs=0.2)  # its rows add up to 49.05
    assert blip + (38.7 - 34.7) / 16 == pytest.approx(45.5, abs=0.06)  # OVEN's as Table 9 prints it

    printed = [48.9, 43.3, 42.7, 45.5, 28.1, 35.4, 28.8, 38.3]
    assert averages(TABLE_9) == pytest.approx(printed, abs=0.3)  # BLIP-SF's rows add up to 42.98


def test_every_table_has_all_rows_and_a_figure_per_system():
    for paper in TABLES:
        assert tuple(paper.figures) == ROWS and len(ROWS) == 16
        assert {len(figures) for figures in paper.figures.values()} == {len(paper.systems)}


def test_tables_agree_where_they_print_the_same_system():
    """The supplement's widest beams are the paper's own tables."""
    for short, long in ((TABLE_1, TABLE_8), (TABLE_2, TABLE_9)):
        for row in ROWS:
            mine, other = (dict(zip(paper.systems, paper.figures[row], strict=True)) for paper in (short, long))
            assert mine["GENIUS"] == other["GENIUS, 50 beams"]
            assert mine["GENIUS + re-rank"] == other["GENIUS + re-rank, 50"]


def test_a_row_as_printed():
    assert TABLE_8.figures[7, "fashioniq"] == (25.9, 3.0, 24.4, 29.2, None, None, 12.8, 17.5, 13.2, 19.3)
    assert TABLE_9.figures[6, "oven"] == (39.2, 34.7, 35.2, 38.7, 34.4, 37.1, 34.6, 38.0)
    assert TABLE_1.figures[0, "mscoco"] == (81.1, 79.7, 50.7, 39.5, 68.1, 78.0)


def test_a_counterpart_has_the_task_and_the_ending_of_the_name():
    assert TABLE_2.counterpart(7, "drawn_fashioniq") == (26.2, 28.5, 18.9, 19.2)
    assert TABLE_2.counterpart(0, "drawn_fashioniq") is None and TABLE_2.counterpart(0, "shapes") is None
    assert TABLE_2.holds("fashioniq") and not TABLE_2.holds("drawn_fashioniq")
