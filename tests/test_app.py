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


def test_it_serves_the_run_it_was_given(tmp_path, monkeypatch):
    (tmp_path / "manifest.json").write_text("{}")
    told = []
    engine = SimpleNamespace(follow=lambda: told.append("follow"))
    loader = SimpleNamespace(load=lambda *given: told.append(given) or engine)
    monkeypatch.setitem(sys.modules, "genius.search.engine", SimpleNamespace(Engine=loader))
    memory = SimpleNamespace(keep_freed_memory=lambda: told.append("keep memory"))
    monkeypatch.setitem(sys.modules, "genius.runtime", memory)
    page = SimpleNamespace(block_thread=lambda: told.append("until Ctrl+C"))
    monkeypatch.setitem(
        sys.modules,
        "genius.ui.common.context",
        SimpleNamespace(Served=SimpleNamespace(read=lambda run, editable: f"read {run.name}" + ", to edit" * editable)),
    )
    monkeypatch.setitem(sys.modules, "genius.ui.page", SimpleNamespace(build=lambda *built: told.append(built) or page))
    monkeypatch.setitem(
        sys.modules,
        "genius.ui.serving",
        SimpleNamespace(Hosting=lambda *hosting: hosting, serve=lambda *served: told.append(served)),
    )

    app.main(
        [
            "--run",
            str(tmp_path),
            "--host",
            "0.0.0.0",
            "--port",
            "8000",
            "--root-path",
            "/genius",
            "--auth",
            "ada:one",
            "--device",
            "cpu",
            "--fast-dtype",
            "bfloat16",
            "--editable",
        ]
    )

    assert told == [
        "keep memory",
        (tmp_path, "cpu", "bfloat16"),
        "follow",
        (engine, f"read {tmp_path.name}, to edit"),
        (page, ("0.0.0.0", 8000, "/genius", [("ada", "one")])),
        "until Ctrl+C",
    ]


def test_a_host_that_sets_gradios_variables_needs_no_arguments(monkeypatch):
    for name, value in (("SERVER_NAME", "0.0.0.0"), ("SERVER_PORT", "7000"), ("ROOT_PATH", "/space")):
        monkeypatch.setenv(f"GRADIO_{name}", value)
    options = app.arguments([])
    assert (options.host, options.port, options.root_path) == ("0.0.0.0", 7000, "/space")


def test_a_login_that_is_none_is_told_before_anything_is_loaded(capsys):
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
