"""Collections with generated records; a file of its own, because a file of the suite has ten minutes."""

from tests.hostile.inputs.collection_stages import judge_generated
from tests.hostile.inputs.spoiled_collections import RECORD_CHANGES, spoiled


def test_what_passes_the_check_is_accepted_by_every_stage(tmp_path_factory, counts):
    judge_generated(spoiled(RECORD_CHANGES), tmp_path_factory.mktemp("stages"), counts)
