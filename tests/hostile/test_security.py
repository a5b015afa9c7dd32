"""Known weaknesses of libraries, files outside of uploads, visitors without a login, and
connections to elsewhere.

advisories.json lists weaknesses; `fixed` is null where a library has no version without it, or none
that can be used.
"""

import ast
import json
import os
import re
import shutil
from importlib.metadata import PackageNotFoundError, version
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from packaging.version import Version
from PIL import Image

from genius.collections import images
from tests.hostile.test_inputs import META, saved
from tests.search.tiny import publish_tiny_run
from tests.ui.started import events, search, started, terminate
from tests.ui.tiny_page import serving

ROOT = Path(__file__).resolve().parents[2]
ADVISORIES = json.loads(Path(__file__).with_name("advisories.json").read_text(encoding="utf-8"))
UNSAFE = {"pickle", "shelve", "marshal", "dill", "joblib", "tarfile", "zipfile"}
# the module that may unpack: it bounds sizes and chooses all paths
UNPACKS = "genius/collections/archives.py"
CALLS = {"eval", "exec", "faiss.read_index", "shutil.unpack_archive"}
SECRET = "the-secret-of-another-folder"
PREFIXES = (
    "/gradio_api/file=",
    "/gradio_api/file/",
    "/file=",
    "/file/",
    "/static/",
    "/assets/",
    "/gradio_api/proxy=",
)
# TCP; UDP, such as a question to a name server; -D: the traced process is our child, which gets the
# signals
STRACE = ["strace", "-D", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg"]
ADDRESS = re.compile(r'inet_addr\("(?P<four>[^"]+)"\)|inet_pton\(AF_INET6, "(?P<six>[^"]+)"')
# variables that could hide a call
QUIET = re.compile("OFFLINE|TELEMETRY|ANALYTICS|DO_NOT_TRACK|PROXY", re.IGNORECASE)


@pytest.mark.sample
@pytest.mark.parametrize(
    "advisory", ADVISORIES, ids=lambda advisory: f"{advisory['package']} {advisory['id']}"
)
def test_what_is_installed_is_fixed_or_a_test_holds_what_protects_from_it(advisory):
    if advisory["package"] != "python":
        try:
            present = Version(version(advisory["package"]))
        except PackageNotFoundError:
            return
        if advisory["fixed"] and present >= Version(advisory["fixed"]):
            return
    assert advisory["protected_by"], advisory
    file, name = advisory["protected_by"].split("::")
    assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8"), "it does not exist"


def modules():
    """The syntax of each module that reads what others wrote."""
    for file in sorted((ROOT / "genius").rglob("*.py")):
        yield (
            file.relative_to(ROOT).as_posix(),
            list(ast.walk(ast.parse(file.read_text(encoding="utf-8")))),
        )


@pytest.mark.sample
def test_no_format_is_read_that_can_hold_code_and_images_are_opened_by_one_module():
    safe = ["PNG", "JPEG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "AVIF", "HEIF"]
    assert set(images.FORMATS) <= set(safe)
    for file, nodes in modules():
        for node in nodes:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            unsafe = UNSAFE & {name and name.split(".")[0] for name in names}
            assert not unsafe or (file == UNPACKS and unsafe <= {"tarfile", "zipfile"}), (
                file,
                names,
            )
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                options = {option.arg: ast.unparse(option.value) for option in node.keywords}
                assert called not in CALLS, (file, called)
                assert called != "Image.open" or file == "genius/collections/images.py", file
                assert called != "torch.load" or options.get("weights_only") == "True", file
                assert options.get("allow_pickle", "False") == "False", file


def paths(run):
    """A secret, the files of the run and the machine, written in every way that some server has
    once followed.
    """
    for file in (
        run.parent / "secret.txt",
        run / "manifest.json",
        "/etc/passwd",
        "/proc/self/environ",
    ):
        near = os.path.relpath(file)
        for path in (
            str(file),
            near,
            f"{'../' * 12}{str(file)[1:]}",
            f"....//{near}",
            f"file://{file}",
            f"/{file}",
        ):
            yield from (
                path,
                quote(path, safe=""),
                quote(quote(path, safe=""), safe=""),
                path.replace("/", "\\"),
            )
            yield from (
                path.replace("../", "..%2f"),
                path.replace(".", "%2e"),
                path.replace("../", "..;/"),
            )
            yield f"{path}%00"


def test_no_address_leads_to_a_file_outside_of_uploads(tmp_path):
    (tmp_path / "secret.txt").write_text(SECRET)
    with (
        serving(tmp_path / "run") as page,
        httpx.Client(base_url=page.url, trust_env=False, timeout=60) as client,
    ):
        for address in (
            prefix + path for path in sorted(set(paths(page.run))) for prefix in PREFIXES
        ):
            answer = client.get(address)
            assert answer.status_code != 500, address
            for secret in (SECRET, "root:", '"parts"', "PATH="):
                assert secret not in answer.text, address
        for file in (next(page.run.rglob("*.png")), page.run.parent / "secret.txt"):
            for given in (
                {"path": str(file)},
                {"path": os.path.relpath(file)},
                {"url": f"file://{file}", "path": "x"},
            ):
                data = ["", given | META, "", 5, 3, "any"]
                event = client.post("/gradio_api/call/search", json={"data": data}).json()[
                    "event_id"
                ]
                text = client.get(f"/gradio_api/call/search/{event}").text
                assert "event: error" in text and '"hits"' not in text and SECRET not in text


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_served_run_connects_to_this_machine_alone(tmp_path):
    run = publish_tiny_run(tmp_path / "run").path
    trace = tmp_path / "trace"
    (run / "CREDITS.md").write_text("By Ann", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not QUIET.search(name)}
    environment |= {"GRADIO_TEMP_DIR": str(tmp_path / "uploads")}
    with started(
        run, "--editable", before=[*STRACE, "-o", str(trace)], environment=environment
    ) as server:
        sent = {"files": ("photo.png", saved(Image.new("RGB", (40, 30)), "PNG"))}
        (path,) = server.client.post("/gradio_api/upload", files=sent).json()
        for picture in (None, {"path": path} | META):
            data = ["a red dog", picture, "", 5, 3, "any"]
            event = server.client.post("/gradio_api/call/search", json={"data": data}).json()[
                "event_id"
            ]
            assert "event: complete" in server.client.get(f"/gradio_api/call/search/{event}").text
        for address in ("", "about", "config", "gradio_api/info", "credits", "metrics"):
            assert server.client.get(f"/{address}").status_code == 200, address
        assert search(server.client, "a blue cat")["hits"]
        status, stderr = terminate(server)
    assert status == 0 and "serving" in events(server.log), stderr
    traced = trace.read_text(errors="replace")
    contacted = {ip_address(match["four"] or match["six"]) for match in ADDRESS.finditer(traced)}
    assert "HTTP/1.1 200 OK" in traced and all(address.is_loopback for address in contacted), (
        contacted
    )
