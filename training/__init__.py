"""Training: a collection becomes a run. encoder → features → quantizer → decoder → index."""
