"""So that ``python -m ldlearn.cli`` is ``ldlearn``."""

import signal

from ldlearn.cli import interrupts

signal.signal(signal.SIGINT, interrupts.quit_now)  # Ctrl-C is looked after before anything else is imported

from ldlearn.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
