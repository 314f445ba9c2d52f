"""Settings of the whole suite."""

import os

from hypothesis import settings

# On CI the same examples every time; elsewhere new ones, which is how faults are found.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
