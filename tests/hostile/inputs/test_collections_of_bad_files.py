"""Collections with generated files: whatever passes the check is accepted by every later stage."""

from hypothesis import given, settings

from tests.hostile.inputs.collection_stages import Stages
from tests.hostile.inputs.spoiled_collections import FILE_CHANGES, spoiled

EXAMPLES = 160


def test_what_passes_the_check_is_accepted_by_every_stage(tmp_path_factory, counts):
    stages = Stages(tmp_path_factory.mktemp("stages"))

    @settings(settings.get_profile("hostile"), max_examples=EXAMPLES)
    @given(spoiled(FILE_CHANGES))
    def judge(files):
        _, outcomes, flaw = stages.judge_files(files)
        for outcome in outcomes:
            counts("inputs", outcome.kind)
        assert not flaw, flaw

    judge()
