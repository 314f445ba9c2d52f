"""So that ``python -m ldlearn.cli`` is ``ldlearn``."""

from ldlearn.cli.main import main

main()
