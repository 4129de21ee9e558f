"""Transcribes a second of noise with whisper.cpp (pywhispercpp) and prints the segments: `whisper_transcribes.py MODEL [timed]`.

timed: whisper.cpp also finds when each token was said, from what attention looked at, which it gives to a backend without a scheduler.
"""

from __future__ import annotations

import sys

import _pywhispercpp
import numpy as np
from pywhispercpp.model import Model


def main() -> None:
    """Print what the model heard."""
    is_timed = "timed" in sys.argv[2:]
    heads = _pywhispercpp.whisper_alignment_heads_preset.WHISPER_AHEADS_N_TOP_MOST
    timing = {"dtw_token_timestamps": True, "dtw_aheads_preset": heads, "dtw_n_top": 1, "flash_attn": False} if is_timed else None
    model = Model(sys.argv[1], n_threads=1, print_progress=False, redirect_whispercpp_logs_to=None, context_params=timing)
    sound = np.random.default_rng(3).normal(0, 0.1, 16000).astype(np.float32)
    segments = model.transcribe(sound, language="en", max_tokens=8, single_segment=True, temperature=0.0, temperature_inc=0.0)
    times = []
    if is_timed:
        count = _pywhispercpp.whisper_full_n_tokens(model._ctx, 0)
        times = [_pywhispercpp.whisper_full_get_token_data(model._ctx, 0, token).t_dtw for token in range(count)]
    print("generated", [(one.t0, one.t1, one.text) for one in segments], *times)


if __name__ == "__main__":
    main()
