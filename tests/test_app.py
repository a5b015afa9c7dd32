import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import app

ROOT = Path(__file__).resolve().parent.parent


def test_without_a_run_it_says_in_one_sentence_how_to_make_one(tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        app.main(["--run", str(tmp_path / "nowhere")])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "There is no run at" in said
    for step in ("python -m genius.collections", "python -m training", "python app.py --run"):
        assert step in said


def test_the_default_run_is_the_shipped_one():
    assert app.arguments([]).run == ROOT / "assets" / "demo"


def test_it_serves_the_run_it_was_given(tmp_path, monkeypatch, capsys):
    from genius import runtime
    from genius.search.engine import Engine
    from genius.ui import page, serving
    from genius.ui.common.context import Served
    from genius.ui.security import Policy

    (tmp_path / "manifest.json").write_text('{"format": 1, "parts": {}}')
    calls = []
    server = SimpleNamespace(address="http://address", wait=lambda: calls.append("wait"))
    engine = SimpleNamespace(follow=lambda: calls.append("follow"))
    monkeypatch.setattr(runtime, "keep_freed_memory", lambda: calls.append("keep memory"))
    monkeypatch.setattr(Engine, "load", lambda *given: calls.append(given) or engine)
    monkeypatch.setattr(page, "build", lambda engine, served: (engine, served))
    monkeypatch.setattr(serving, "serve", lambda *served: calls.append(served) or server)

    app.main(
        f"--run {tmp_path} --host 0.0.0.0 --port 8000 --root-path /genius --auth ada:one --device cpu --editable "
        "--fast-dtype bfloat16 --allowed-host Genius.example.org --embed-in https://example.org".split()
    )

    hosting = serving.Hosting(
        host="0.0.0.0",
        port=8000,
        root_path="/genius",
        logins=[("ada", "one")],
        policy=Policy(editable=True, hosts=("0.0.0.0", "genius.example.org"), origins=("https://example.org",)),
    )
    served = Served(tmp_path, editable=True)
    assert calls == ["keep memory", (tmp_path, "cpu", "bfloat16"), "follow", ((engine, served), hosting), "wait"]
    assert "Serving at http://address until Ctrl+C" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, sentence",
    [("--host 0.0.0.0 --editable", "--allow-anonymous-editing"), ("--embed-in example.org", "--embed-in takes")],
)
def test_a_dangerous_command_line_is_refused_before_anything_is_loaded(capsys, arguments, sentence):
    with pytest.raises(SystemExit):
        app.main(arguments.split())
    message = capsys.readouterr().err
    assert sentence in message and message.count("\n") == 1


def test_a_host_that_sets_gradios_variables_needs_no_arguments(monkeypatch):
    for name, value in (("SERVER_NAME", "0.0.0.0"), ("SERVER_PORT", "7000"), ("ROOT_PATH", "/space")):
        monkeypatch.setenv(f"GRADIO_{name}", value)
    options = app.arguments([])
    assert (options.host, options.port, options.root_path) == ("0.0.0.0", 7000, "/space")


def test_a_malformed_login_is_refused_before_anything_is_loaded(capsys):
    with pytest.raises(SystemExit):
        app.main(["--auth", "ada"])
    assert "NAME:PASSWORD" in capsys.readouterr().err


def test_the_readme_configures_a_space_that_runs_this_app():
    _, configuration, _ = (ROOT / "README.md").read_text().split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in configuration.splitlines())
    assert (ROOT / fields["app_file"]).is_file() and fields["sdk"] == "gradio"
    assert fields["sdk_version"].startswith("6.") and fields["colorFrom"] and fields["colorTo"]


def test_help_and_a_missing_run_need_no_model_library():
    script = (
        "import sys, app\n"
        "try: app.main(['--run', 'nowhere'])\n"
        "except SystemExit: print(sorted({'torch', 'gradio', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
