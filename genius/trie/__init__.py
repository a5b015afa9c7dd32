"""Packed IDs, the table of items sorted by ID, and the trie of valid prefixes. Needs only numpy and
torch.
"""
