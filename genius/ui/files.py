"""The files of the page as they are served: HTML, modules of scripts, styles, a font, and plotly's
script.

All but the page itself lie below a name that is made of what is in them, so that a browser may keep
them for ever and yet never shows an old one beside a new one. They hold nothing of a run, and come
without a login.
"""

import gzip
import hashlib
import mimetypes
from importlib.util import find_spec
from pathlib import Path

from starlette.responses import Response
from starlette.types import Scope

STATIC = Path(__file__).with_name("static")
PLOTLY_NAME = "plotly.js"
FOR_EVER = "public, max-age=31536000, immutable"
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".woff2": "font/woff2",
}
COMPRESSED = {".js", ".css", ".html", ".svg"}


def plotly_file() -> Path:
    """plotly's script, from the installed package, without importing that."""
    spec = find_spec("plotly")
    assert spec and spec.origin
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


class PageFiles:
    """The files, read and compressed once."""

    def __init__(self, folder: Path = STATIC):
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        content = {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
        total = hashlib.blake2b(digest_size=6)
        for name, data in content.items():
            total.update(name.encode() + data)
        self.version = total.hexdigest()
        content["index.html"] = content["index.html"].replace(
            b"static/", b"static/%s/" % self.version.encode()
        )
        self.content = content
        self.packed = {
            name: gzip.compress(data, 6, mtime=0)
            for name, data in content.items()
            if Path(name).suffix in COMPRESSED
        }

    def answer(self, scope: Scope, path: str) -> Response | None:
        """The file at static/VERSION/NAME; None if there is none."""
        version, _, name = path.partition("/")
        if name == PLOTLY_NAME:
            self.content.setdefault(name, plotly_file().read_bytes())
            self.packed.setdefault(name, gzip.compress(self.content[name], 6, mtime=0))
        if name == "index.html" or name not in self.content:
            return None
        kept = FOR_EVER if version == self.version else "no-cache"
        return self.response(scope, name, {"Cache-Control": kept})

    def page(self, scope: Scope) -> Response:
        """The page itself, which every run has."""
        etag = f'"{self.version}"'
        headers = dict(scope["headers"])
        if headers.get(b"if-none-match", b"").decode("latin-1") == etag:
            return Response(status_code=304, headers={"ETag": etag, "Cache-Control": "no-cache"})
        return self.response(scope, "index.html", {"Cache-Control": "no-cache", "ETag": etag})

    def response(self, scope: Scope, name: str, headers: dict[str, str]) -> Response:
        suffix = Path(name).suffix
        kind = TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers |= {"X-Content-Type-Options": "nosniff", "Vary": "Accept-Encoding"}
        accepts = dict(scope["headers"]).get(b"accept-encoding", b"")
        if name in self.packed and b"gzip" in accepts:
            return Response(
                self.packed[name], media_type=kind, headers=headers | {"Content-Encoding": "gzip"}
            )
        return Response(self.content[name], media_type=kind, headers=headers)
