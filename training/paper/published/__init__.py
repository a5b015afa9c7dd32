"""The authors' checkpoints become a run; `python -m training.published` is the command."""
