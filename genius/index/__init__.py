"""What can be found: packed IDs, the trie of the valid ones, and items with their embeddings on disk."""
