"""Numbers: hit rates of a run beside those of dense search, with intervals, costs and times."""
