"""genius.trie is the core that others import alone."""

import subprocess
import sys

PROGRAM = """
import sys
from genius.trie import ids, pool, trie
print(*sorted({name.split(".")[0] for name in sys.modules}))
print(*sorted(name for name in sys.modules if name.startswith("genius.")))
"""


def test_the_trie_needs_only_numpy_and_torch():
    printed = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True).stdout
    packages, modules = (set(line.split()) for line in printed.splitlines())
    assert {"numpy", "torch"} <= packages
    assert not packages & {"safetensors", "gradio", "transformers", "open_clip", "PIL", "faiss", "sklearn", "pandas"}
    assert modules == {"genius.trie", "genius.trie.ids", "genius.trie.pool", "genius.trie.trie"}
