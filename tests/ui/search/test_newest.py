import inspect
import threading

import gradio as gr
import pytest
from gradio.helpers import special_args

from genius.errors import UserError
from genius.ui.search.newest import Newest, if_still_shown, newest_only
from tests.waiting import WAIT


def while_waiting(newest, wrap, answer, then):
    """What an event returns if `then` happens before it ends."""
    begun, go, returned = threading.Event(), threading.Event(), []

    def slow():
        begun.set()
        assert go.wait(WAIT)
        return answer

    running = threading.Thread(target=lambda: returned.append(wrap(slow)(newest)))
    running.start()
    assert begun.wait(WAIT)
    then()
    go.set()
    running.join(WAIT)
    return returned[0]


def test_a_search_that_ends_after_a_later_one_changes_nothing():
    newest = Newest()
    later = newest_only(lambda text: text)
    assert while_waiting(newest, newest_only, "old", lambda: later("new", newest)) == gr.skip()
    assert while_waiting(newest, newest_only, "newest", lambda: later("other", Newest())) == "newest"


def test_a_search_changes_nothing_once_a_later_one_has_begun():
    newest = Newest()
    interrupted = newest_only(lambda: setattr(newest, "latest_search", object()))
    assert interrupted(newest) == gr.skip() and newest.shown_search is None


def test_an_explanation_of_results_that_were_replaced_meanwhile_changes_nothing():
    newest, search = Newest(), newest_only(lambda: "found")
    assert while_waiting(newest, if_still_shown, "why", lambda: search(newest)) == gr.skip()
    assert while_waiting(newest, if_still_shown, "why", lambda: None) == "why"


def test_the_results_of_a_search_are_shown_although_a_later_one_failed():
    newest = Newest()

    def fail():
        raise UserError("Type a description.")

    def later():
        with pytest.raises(UserError):
            newest_only(fail)(newest)

    assert while_waiting(newest, newest_only, "found", later) == "found"


def test_of_two_choices_in_one_panel_the_later_one_counts():
    newest = Newest()

    def in_strip(explain):
        return if_still_shown(explain, "strip")

    assert while_waiting(newest, in_strip, "old", lambda: in_strip(lambda: "new")(newest)) == gr.skip()
    assert while_waiting(newest, in_strip, "new", lambda: if_still_shown(lambda: "other", "why")(newest)) == "new"


def test_gradio_sees_the_arguments_of_the_callback_itself():
    def on_example(event: gr.EventData, stored, *settings):
        return event, stored, settings

    newest, event = Newest(), gr.EventData(None, {"index": 1})
    answered = newest_only(on_example)
    given, *_ = special_args(answered, [[], 5, newest], event_data=event)
    picked, *rest = answered(*given)
    assert (picked.index, *rest) == (1, [], (5,)) and answered.__name__ == "on_example"
    assert [*inspect.signature(if_still_shown(lambda known: None)).parameters] == ["known", "newest"]


def test_drawing_anew_gives_way_to_a_choice_and_replaces_none():
    newest, choose = Newest(), if_still_shown(lambda: "chosen", "why")

    def drawing(draw):
        return if_still_shown(draw, "why", chooses=False)

    assert while_waiting(newest, drawing, "drawn", lambda: choose(newest)) == gr.skip()
    assert (
        while_waiting(newest, lambda slow: if_still_shown(slow, "why"), "why", lambda: drawing(lambda: "drawn")(newest))
        == "why"
    )
