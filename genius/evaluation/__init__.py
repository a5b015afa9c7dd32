"""Reports of a run: hit rates compared with dense search, intervals, code statistics, costs and times."""
