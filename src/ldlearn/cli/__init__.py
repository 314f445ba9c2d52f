"""The command `ldlearn`."""
