"""What pip asks to build tensortap: scikit-build-core, and a sentence for a Python that is too old.

pyproject.toml asks for no package where Python is too old, so that a pip of any age comes here, and this file parses there.
"""

import sys

if sys.version_info < (3, 11):  # pip builds before it reads what Python is asked for
    # sys.exit() prints this alone, which an exception would bury in a traceback.
    sys.exit(
        f"tensortap: this is Python {sys.version_info[0]}.{sys.version_info[1]}; tensortap needs Python 3.11 or newer, for which it has "
        "a wheel that needs no compiler: install it with one, as in `python3.11 -m pip install tensortap`."
    )

from scikit_build_core.build import *  # noqa: F403
