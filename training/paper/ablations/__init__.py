"""The paper's ablations and rival identifiers, trained on the encoder and the features of a run."""
