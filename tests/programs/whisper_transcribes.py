"""Transcribes a second of noise with whisper.cpp (pywhispercpp) and prints the segments: `whisper_transcribes.py MODEL`."""

from __future__ import annotations

import sys

import numpy as np
from pywhispercpp.model import Model


def main() -> None:
    """Print what the model heard."""
    model = Model(sys.argv[1], n_threads=1, print_progress=False, redirect_whispercpp_logs_to=None)
    sound = np.random.default_rng(3).normal(0, 0.1, 16000).astype(np.float32)
    segments = model.transcribe(sound, language="en", max_tokens=8, single_segment=True, temperature=0.0, temperature_inc=0.0)
    print("generated", [(one.t0, one.t1, one.text) for one in segments])


if __name__ == "__main__":
    main()
