"""What can be found: IDs, embeddings and records of items on disk, in segments and snapshots."""
