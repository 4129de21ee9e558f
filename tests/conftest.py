"""What every test starts from."""

from __future__ import annotations

import os

from device_support import device  # noqa: F401

# The width of the terminal that the tests are watched on is not that of the commands they run, whose output goes into pipes.
os.environ.pop("COLUMNS", None)
