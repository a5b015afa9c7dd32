"""The tables of the ablations say what the report says."""

from genius.explore.report_tables.ablation_tables import CLAIMS, ablation_choices, ablation_note, ablation_tables
from tests.explore.report_tables.sample_reports import ABLATIONS, HOSTILE


def test_a_published_column_stands_before_ours_where_the_paper_prints_it():
    paper, ours = ablation_tables(ABLATIONS, "Table 4: Key components")
    first, second = ABLATIONS["tables"][0]["columns"]
    assert paper.columns == ("Variant", f"paper: {first}", first, f"paper: {second}", second, "seeds")
    assert paper.rows[0] == ["GENIUS", "55.4", "50.0 [45.0, 55.0]", "82.7", "60.0 [55.0, 65.0]", "3"]
    assert ours.columns == ("Variant", first, second, "seeds")
    assert ours.rows == [["GENIUS", "70.0 [65.0, 75.0]", "–", "1"]]


def test_the_claims_come_last_if_there_are_any():
    assert ablation_choices(ABLATIONS) == ["Table 4: Key components", CLAIMS]
    assert ablation_choices(ABLATIONS | {"claims": []}) == ["Table 4: Key components"]
    (claims,) = ablation_tables(ABLATIONS, CLAIMS)
    assert claims.title.startswith("The paper's decoder. ")
    assert claims.rows == [["Modality helps (5.5)", "holds", "+9.0 [+1.0, +17.0]"]]


def test_claims_of_our_decoder_have_a_table_of_their_own():
    of_ours = ABLATIONS["claims"][0] | {"block": "ours", "verdict": "undecided"}
    paper, ours = ablation_tables(ABLATIONS | {"claims": [*ABLATIONS["claims"], of_ours]}, CLAIMS)
    assert [paper.rows[0][1], ours.rows[0][1]] == ["holds", "undecided"] and ours.title.startswith("Our decoder. ")


def test_the_note_says_what_stands_for_the_papers_columns():
    assert f"{HOSTILE} task 3 for mscoco" in ablation_note(ABLATIONS) and "K × M = 64 × 7" in ablation_note(ABLATIONS)
