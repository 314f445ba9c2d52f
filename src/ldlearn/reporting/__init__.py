"""Records turned into pages and tables."""
