"""``python -m ldlearn.cli`` is ``ldlearn``."""

from ldlearn.cli.main import main

if __name__ == "__main__":
    main()
