"""What the paper reports, made again.

ablations   its Tables 4, 5 and S3 to S9, each a set of changed settings
published   the authors' checkpoints become a run
"""
