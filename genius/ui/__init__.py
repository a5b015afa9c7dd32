"""The page. Each tab has a folder; callbacks only translate between widgets and the library."""
