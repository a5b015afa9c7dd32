import inspect
import threading

import gradio as gr
from gradio.helpers import special_args

from genius.ui.search.newest import Newest, about_the_shown, newest_only


def while_waiting(newest, wrap, answer, then):
    """What an event returns if `then` happens before it ends."""
    begun, go, returned = threading.Event(), threading.Event(), []

    def slow():
        begun.set()
        assert go.wait(10)
        return answer

    running = threading.Thread(target=lambda: returned.append(wrap(slow)(newest)))
    running.start()
    assert begun.wait(10)
    then()
    go.set()
    running.join(10)
    return returned[0]


def test_a_search_that_ends_after_a_later_one_changes_nothing():
    newest = Newest()
    later = newest_only(lambda text: text)
    assert while_waiting(newest, newest_only, "old", lambda: later("new", newest)) == gr.skip()
    assert while_waiting(newest, newest_only, "newest", lambda: later("other", Newest())) == "newest"


def test_a_search_changes_nothing_once_a_later_one_has_begun():
    newest = Newest()
    assert newest_only(lambda: setattr(newest, "begun", object()))(newest) == gr.skip() and newest.shown is None


def test_an_explanation_of_results_that_were_replaced_meanwhile_changes_nothing():
    newest, search = Newest(), newest_only(lambda: "found")
    assert while_waiting(newest, about_the_shown, "why", lambda: search(newest)) == gr.skip()
    assert while_waiting(newest, about_the_shown, "why", lambda: None) == "why"


def test_gradio_sees_the_arguments_of_the_callback_itself():
    def on_example(event: gr.EventData, stored, *settings):
        return event, stored, settings

    newest, event = Newest(), gr.EventData(None, {"index": 1})
    answered = newest_only(on_example)
    given, *_ = special_args(answered, [[], 5, newest], event_data=event)
    picked, *rest = answered(*given)
    assert (picked.index, *rest) == (1, [], (5,)) and answered.__name__ == "on_example"
    assert [*inspect.signature(about_the_shown(lambda known: None)).parameters] == ["known", "newest"]
