"""Training: a collection becomes a run. encoder → features → quantizer → decoder → index."""

import genius  # noqa: F401, so that Ctrl+C is explained while the rest is imported
