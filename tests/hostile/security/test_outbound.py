"""No connection leaves the machine: the system calls of app.py while it starts, answers, is edited and ends."""

import os
import re
import shutil
from collections import Counter
from ipaddress import ip_address

import pytest

from tests.hostile.artifacts.tiny_run import write_run
from tests.hostile.load.clients import Client
from tests.ui.started import events, search, started, terminate

CALLS = "connect,sendto,sendmsg,sendmmsg"  # TCP; UDP, such as a question to a name server, with a connection or without
# -D: the traced process is our child, which gets the signals
STRACE = ["strace", "-D", "-f", "-qq", "-e", f"trace={CALLS}"]
ADDRESS = re.compile(r'inet_addr\("(?P<four>[^"]+)"\)|inet_pton\(AF_INET6, "(?P<six>[^"]+)"')
QUIET = re.compile("OFFLINE|TELEMETRY|ANALYTICS|DO_NOT_TRACK|PROXY", re.IGNORECASE)  # variables that could hide a call
TEXTS = ["a red dog", "a blue cat"]


def contacted(trace):
    """How often each address was contacted."""
    found = Counter()
    for match in ADDRESS.finditer(trace):
        found[ip_address(match["four"] or match["six"])] += 1
    return found


def test_the_trace_of_a_foreign_connection_is_read():
    lines = (
        '7 connect(5, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.7")}, 16) = 0\n'
        '7 sendto(5, "x", 1, 0, {sa_family=AF_INET6, inet_pton(AF_INET6, "2001:db8::1", &sin6_addr)}, 28) = 1\n'
        '7 connect(5, {sa_family=AF_UNIX, sun_path="/run/nscd"}, 110) = -1\n'
    )
    assert contacted(lines) == {ip_address("192.0.2.7"): 1, ip_address("2001:db8::1"): 1}


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_served_run_connects_to_this_machine_alone(tmp_path, counts, measured):
    """With a text tower of Hugging Face, whose library asks its hub if it may, and with Gradio as it comes."""
    run, trace = write_run(tmp_path / "run"), tmp_path / "trace"
    environment = {name: value for name, value in os.environ.items() if not QUIET.search(name)}
    environment |= {"GRADIO_TEMP_DIR": str(tmp_path / "uploads")}
    picture = next((run / "examples").glob("*.webp"))
    with started(run, "--editable", before=[*STRACE, "-o", str(trace)], environment=environment) as server:
        client = Client(str(server.client.base_url))
        path = client.upload(picture)
        asked = [(text, None, "", 5, 3, "any") for text in TEXTS]
        asked += [(text, {"path": path, "meta": {"_type": "gradio.FileData"}}, "", 5, 3, "any") for text in ("", "red")]
        for data in asked:
            event = server.client.post("/gradio_api/call/search", json={"data": data}).json()["event_id"]
            assert "event: complete" in server.client.get(f"/gradio_api/call/search/{event}").text
        for address in ("/", "/config", "/theme.css", "/gradio_api/info", "/credits", "/healthz", "/metrics"):
            assert server.client.get(address).status_code == 200, address
        assert search(server.client, TEXTS[0])["hits"]
        status, stderr = terminate(server)
    assert status == 0, stderr
    assert "serving" in events(server.log)
    found = contacted(trace.read_text(errors="replace"))
    foreign = {str(address): times for address, times in found.items() if not address.is_loopback}
    assert not foreign, foreign
    measured("security", "connections of a served run to other machines", len(foreign))
    measured("security", "connections of a served run to itself", sum(found.values()))
    counts("security", "unchanged", len(asked) + 1)
