"""The bounds of the paper, as printed and corrected."""
