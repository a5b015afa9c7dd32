"""What all panels use."""
