"""Read, write, check and build datasets in the M-BEIR directory format."""
