"""Packed IDs, the table of items by ID, and the trie of valid prefixes. Needs only numpy and torch."""
