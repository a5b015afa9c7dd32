"""The page. Each tab has a file; callbacks translate between widgets and the library, nothing more."""
