"""Long measurements. Each module is a command; its docstring says what it measures."""
