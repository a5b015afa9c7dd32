"""What can be found: the IDs, embeddings and records of items on disk, in segments and versions."""
