"""Plans, cells and append-only records."""
