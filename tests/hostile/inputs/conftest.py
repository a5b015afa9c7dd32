"""A server for all hostile inputs, and what must hold after them."""

import pytest

from tests.hostile.inputs.served import EDITABLE, FIXED, Client, serving

ESCAPES = ("&#", "&lt;", "&quot;")  # of HTML
GROWTH = 640  # megabytes: a picture of 24 megapixels is decoded in 193, and a request has at most 12


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served")) as server:
        server.expected = Client(server, FIXED).control()
        Client(server, EDITABLE).call("item", "0:2")  # loads the second run
        server.initial = server.megabytes("VmRSS")
        server.new_log()
        server.lines = 0
        yield server


@pytest.fixture(scope="module")
def client(server):
    """A client of the page that cannot be edited. After all tests of a file the server answers as before, and it logged
    no more than a line for each request."""
    client = Client(server, FIXED)
    yield client
    assert client.control() == server.expected
    assert server.lines <= server.requests


@pytest.fixture(scope="module")
def editor(server):
    """A client of the page that visitors may edit."""
    return Client(server, EDITABLE)


@pytest.fixture
def judge(counts):
    """judge(answer, …) counts an answer, and fails with the rest of its arguments unless it is as it should be."""

    def judged(answer, *sent):
        counts("inputs", answer.outcome)
        assert answer.flaw is None, f"{answer.flaw} after {repr(sent)[:500]}"
        if answer.to_program and not answer.success:  # the message may quote what was sent, as it is
            assert not [part for part in ESCAPES if part in answer.content and part not in repr(sent)]
        return answer

    return judged


@pytest.fixture(autouse=True)
def bounded(request, measured):
    """After each test that asked the server, it is alive and has not grown beyond its bound."""
    yield
    if "server" in request.fixturenames:
        server = request.getfixturevalue("server")
        assert server.process.poll() is None, "the server ended"
        memory = [server.initial, server.megabytes("VmHWM"), server.megabytes("VmRSS")]
        measured("inputs", "megabytes at the start, at most and now", memory)
        assert memory[1] < server.initial + GROWTH
