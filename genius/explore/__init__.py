"""Looking inside: what codes mean and how healthy they are. Returns data and figures, never
widgets.
"""
