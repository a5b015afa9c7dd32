"""Where items and queries come from: M-BEIR-format directories, read, written, checked and built."""
