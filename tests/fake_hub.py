"""A hub on the loopback address, as far as huggingface_hub needs one to store a repository and to hand it out."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import unquote

TOKEN = "hf_of_the_tests"
Files = dict[str, bytes]


@contextmanager
def fake_hub() -> Iterator[tuple[str, dict[str, Files]]]:
    """Yield its address, and its repositories: the files of each."""
    repositories: dict[str, Files] = {}
    commits: dict[str, str] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def answer(self, status: int, body: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def say(self, value: object, status: int = 200) -> None:
            self.answer(status, json.dumps(value).encode(), Content_Type="application/json")

        def do_POST(self) -> None:
            body, path = self.rfile.read(int(self.headers["Content-Length"])), self.path.partition("?")[0]
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                return self.say({"error": "Invalid username or password."}, 401)
            if path == "/api/repos/create":
                asked = json.loads(body)
                repo = f"{asked['organization']}/{asked['name']}"
                repositories.setdefault(repo, {})
                return self.say({"url": f"{address}/{repo}"})
            if path == "/api/validate-yaml":
                return self.say({"errors": [], "warnings": []})
            repo, action = re.fullmatch(r"/api/models/(.+?/.+?)/(preupload|commit)/main", path).groups()
            if action == "preupload":
                names = [file["path"] for file in json.loads(body)["files"]]
                plain = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
                return self.say({"files": [{"path": name, **plain} for name in names]})
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    repositories[repo][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            commits[repo] = digest(body)
            return self.say({"commitOid": commits[repo], "commitUrl": f"{address}/{repo}/commit/{commits[repo]}"})

        def do_GET(self) -> None:
            path = unquote(self.path.partition("?")[0])
            asked = re.fullmatch(r"/(?:api/models/)?([^/]+/[^/]+)/(revision|tree|resolve)/([^/]+)/?(.*)", path)
            repo, action, revision, name = asked.groups() if asked else ("", "", "", "")
            if repo not in repositories:
                return self.answer(404, b"", X_Error_Code="RepoNotFound")
            if revision not in ("main", commits[repo]):
                return self.answer(404, b"", X_Error_Code="RevisionNotFound")
            if action == "revision":
                return self.say({"id": repo, "sha": commits[repo], "siblings": [], "tags": []})
            files = repositories[repo]
            if action == "tree":
                found = [
                    {"type": "file", "path": name, "size": len(data), "oid": digest(data)}
                    for name, data in files.items()
                ]
                return self.say(found)
            if name not in files:
                return self.answer(404, b"", X_Error_Code="EntryNotFound")
            return self.answer(200, files[name], ETag=f'"{digest(files[name])}"', X_Repo_Commit=commits[repo])

        do_HEAD = do_GET

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield address, repositories
    finally:
        server.shutdown()
        server.server_close()


def digest(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()
