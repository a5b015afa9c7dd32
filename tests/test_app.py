import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from genius import app
from genius.errors import UserError
from genius.run import shipped_run

ROOT = Path(__file__).resolve().parent.parent


def test_without_a_run_it_says_in_one_sentence_how_to_make_one(tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        app.main(["--run", str(tmp_path / "nowhere")])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "There is no run at" in said
    for step in ("python -m genius.collections", "python -m training", "python app.py --run"):
        assert step in said


def make_run(folder):
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"format": 1, "parts": {}}')
    return folder


def test_the_default_runs_are_the_shipped_ones_that_exist(tmp_path, monkeypatch):
    assert [run.name for run in app.SHIPPED] == ["photos", "toy"]
    assert app.arguments([]).run is None and shipped_run("photos") in app.runs_to_serve(None)
    monkeypatch.setattr(app, "SHIPPED", (tmp_path / "photos", tmp_path / "toy"))
    with pytest.raises(UserError, match="There is no run in .*; make one with"):
        app.runs_to_serve(None)
    toy = make_run(tmp_path / "toy")
    assert app.runs_to_serve(None) == [toy]
    photos = make_run(tmp_path / "photos")
    assert app.runs_to_serve(None) == [photos, toy]


def test_two_runs_of_one_name_and_missing_ones_are_refused(tmp_path):
    one, other = make_run(tmp_path / "a/photos"), make_run(tmp_path / "b/photos")
    with pytest.raises(
        UserError, match="would both be served as /run/photos/; rename one of the folders"
    ):
        app.runs_to_serve([one, other])
    (tmp_path / "c").mkdir()
    (tmp_path / "c/pictures").symlink_to(other)
    with pytest.raises(UserError, match="/run/photos/"):
        app.runs_to_serve([one, tmp_path / "c/pictures"])
    with pytest.raises(UserError, match="was given twice; name each run once"):
        app.runs_to_serve([one, tmp_path / "a/../a/photos"])
    with pytest.raises(UserError, match="There is no run at .*nowhere"):
        app.runs_to_serve([one, tmp_path / "nowhere"])


@pytest.fixture
def calls(monkeypatch):
    """What the program calls; it loads and serves nothing."""
    from genius import runtime
    from genius.search.engine import Engine
    from genius.ui import page, serving

    calls = []
    app.prepare_process.cache_clear()
    server = SimpleNamespace(address="http://address", wait=lambda: calls.append("wait"))
    engine = SimpleNamespace(follow=lambda: calls.append("follow"))
    monkeypatch.setattr(runtime, "keep_freed_memory", lambda shared: calls.append("keep memory"))
    monkeypatch.setattr(Engine, "load", lambda *given: calls.append(given) or engine)
    monkeypatch.setattr(page, "Page", lambda engine, served: served)
    monkeypatch.setattr(serving, "serve", lambda *served: calls.append(served) or server)
    return calls


def test_it_serves_the_runs_it_was_given_and_loads_each_when_asked(tmp_path, calls, capsys):
    from genius.ui.common.context import ServedRun
    from genius.ui.runs import Hosting
    from genius.ui.security import Policy

    one, two = make_run(tmp_path / "one"), make_run(tmp_path / "two")
    app.main(
        f"--run {one} --run {two} --host 0.0.0.0 --port 8000 --root-path /genius --auth "
        "ada:one --device cpu "
        "--editable --allowed-host Genius.example.org --embed-in https://example.org".split()
    )

    hosting = Hosting(
        host="0.0.0.0",
        port=8000,
        root_path="/genius",
        logins=[("ada", "one")],
        policy=Policy(
            editable=True, hosts=("0.0.0.0", "genius.example.org"), origins=("https://example.org",)
        ),
    )
    (runs, served_with), wait = calls
    assert (served_with, wait) == (hosting, "wait")
    assert [run.name for run in runs] == ["one", "two"]
    assert runs[1].load() == ServedRun(two, editable=True, run_names=("one", "two"), login=True)
    assert calls[2:] == ["keep memory", (two, "cpu"), "follow"]
    assert "Serving at http://address until Ctrl+C" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, editable, copied",
    [
        ("", True, True),
        ("--host ::1", True, True),
        ("--editable", True, False),
        ("--host 0.0.0.0", False, False),
        ("--auth ada:one", False, False),
        ("--root-path /genius", False, False),
        ("--allowed-host genius.example.org", False, False),
        ("--embed-in https://example.org", False, False),
    ],
)
def test_a_page_that_is_served_to_oneself_changes_a_working_copy(
    tmp_path, calls, monkeypatch, arguments, editable, copied
):
    shown = []

    def serve(runs, hosting):
        return SimpleNamespace(
            address="http://address", wait=lambda: shown.append((runs[0].load(), hosting))
        )

    monkeypatch.setattr("genius.ui.serving.serve", serve)
    app.main(["--run", str(make_run(tmp_path / "one")), *arguments.split()])
    ((served, hosting),) = shown
    assert (served.editable, hosting.policy.editable) == (editable, editable)
    assert (served.copies is not None, hosting.policy.own) == (copied, copied)
    assert not (served.copies and served.copies.exists())  # any more


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ("--host 0.0.0.0 --editable", "--allow-anonymous-editing"),
        ("--embed-in example.org", "--embed-in takes"),
        ("--port 99999", "--port must be from 0 to 65535, not 99999"),
        ("--auth ada", "NAME:PASSWORD"),
        ("--mcp", "pip install 'genius-explorer[mcp]'"),
    ],
)
def test_a_dangerous_or_impossible_command_line_is_refused_before_anything_is_loaded(
    capsys, monkeypatch, arguments, sentence
):
    monkeypatch.setattr(app, "find_spec", lambda package: None)  # where it is not installed
    with pytest.raises(SystemExit):
        app.main(arguments.split())
    message = capsys.readouterr().err
    assert sentence in message and message.count("\n") == 1


def test_a_host_that_sets_gradios_variables_needs_no_arguments(monkeypatch):
    for name, value in (
        ("SERVER_NAME", "0.0.0.0"),
        ("SERVER_PORT", "7000"),
        ("ROOT_PATH", "/space"),
    ):
        monkeypatch.setenv(f"GRADIO_{name}", value)
    options = app.arguments([])
    assert (options.host, options.port, options.root_path) == ("0.0.0.0", 7000, "/space")


def test_the_readme_configures_a_space_that_runs_this_app():
    _, configuration, _ = (ROOT / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in configuration.splitlines())
    assert (ROOT / fields["app_file"]).is_file() and fields["sdk"] == "gradio"
    (gradio,) = [
        line.split("#")[0]
        for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if "gradio" in line
    ]
    assert (
        Requirement(gradio).specifier.contains(fields["sdk_version"])
        and fields["colorFrom"]
        and fields["colorTo"]
    )


def test_help_and_a_missing_run_need_no_model_library():
    script = (
        "import sys; from genius import app\n"
        "try: app.main(['--run', 'nowhere'])\n"
        "except SystemExit: print(sorted({'torch', 'gradio', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
