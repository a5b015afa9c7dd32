"""A run past one machine, on Ray: only here is it imported, and only when it is used."""

import os

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves the machine
