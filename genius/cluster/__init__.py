"""A run past one machine, on Ray: only here is it imported, and only when it is used."""
