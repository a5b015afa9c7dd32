"""A run past one machine, on Ray: only here is it imported, and only when it is used."""

import os
from pathlib import Path

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves the machine
# a token that Ray made is used as `ray start` uses it; who joins would go without
if (Path.home() / ".ray" / "auth_token").exists():
    os.environ.setdefault("RAY_AUTH_MODE", "token")
