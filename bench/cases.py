"""The models of the overhead table, with real input where it is at hand."""

from __future__ import annotations

import sys
import wave
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))
import magika_demo  # noqa: E402  # the example's own folder

Inputs = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """One model of the table."""

    name: str
    path: str  # below the models folder
    inputs: Callable[[Path], Inputs]  # takes the models folder


def magika_inputs(models: Path) -> Inputs:
    """Give this project's README.md."""
    config = magika_demo.read_config(models / "magika/magika/models/standard_v3_3")
    return {"bytes": magika_demo.model_input((ROOT / "README.md").read_bytes(), config)}


def drawn_text(height: int, width: int) -> npt.NDArray[np.float32]:
    """Draw dark strokes on a light ground, scaled as the OCR models want it: values from -1 to 1."""
    picture = np.full((1, 3, height, width), 0.9, np.float32)
    random = np.random.default_rng(7)
    for line in range(max(1, height // 48)):
        top = line * 48 + 12
        for left in range(8, width - 16, 14):
            stroke_height, stroke_width = int(random.integers(6, 24)), int(random.integers(2, 10))
            picture[:, :, top : top + stroke_height, left : left + stroke_width] = -0.8
    noisy: npt.NDArray[np.float32] = picture + random.normal(0, 0.02, picture.shape).astype(np.float32)
    return noisy


def chord(models: Path) -> Inputs:
    """Give two seconds of a chord."""
    del models
    time = np.arange(43844, dtype=np.float32) / 22050
    sound = sum(np.sin(2 * np.pi * tone * time) for tone in (220.0, 277.18, 329.63)) / 4
    return {"serving_default_input_2:0": np.asarray(sound, np.float32).reshape(1, -1, 1)}


def mel_noise(models: Path) -> Inputs:
    """Give eight seconds of noise as a log mel spectrum."""
    del models
    return {"input_features": np.random.default_rng(3).standard_normal((1, 80, 800)).astype(np.float32)}


def speech_windows(models: Path) -> Inputs:
    """Give a spoken word in windows of 512 samples, each with the 64 before it."""
    with wave.open(str(models / "pipecat_ai/pipecat/services/aws/nova_sonic/ready.wav")) as file:
        sound = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768
    count = len(sound) // 512
    padded = np.concatenate([np.zeros(64, np.float32), sound])
    windows = np.stack([padded[index * 512 : index * 512 + 576] for index in range(count)])
    state = np.zeros((1, 1, 128), np.float32)
    return {"input": windows, "h": state, "c": state}


def loudest_window(models: Path) -> Inputs:
    """Give the loudest window of the word alone, as a program does that listens."""
    windows = speech_windows(models)["input"]
    loudest = windows[np.abs(windows).mean(1).argmax()]
    return {"input": loudest[None], "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(16000, np.int64)}


def batch_of_windows(models: Path) -> Inputs:
    """Give all windows of the word at once."""
    windows = speech_windows(models)["input"]
    return {"input": windows, "state": np.zeros((2, len(windows), 128), np.float32)}


OCR = "rapidocr/rapidocr/models/"
SILERO = "silero_vad/silero_vad/data/"
CASES = (
    Case("magika", "magika/magika/models/standard_v3_3/model.onnx", magika_inputs),
    Case("OCR det 320x320", OCR + "PP-OCRv6_det_small.onnx", lambda _: {"x": drawn_text(320, 320)}),
    Case("OCR rec 48x320", OCR + "PP-OCRv6_rec_small.onnx", lambda _: {"x": drawn_text(48, 320)}),
    Case("OCR cls 48x192", OCR + "ch_ppocr_mobile_v2.0_cls_mobile.onnx", lambda _: {"x": drawn_text(48, 192)}),
    Case("basic-pitch", "basic_pitch/basic_pitch/saved_models/icassp_2022/nmp.onnx", chord),
    Case("smart-turn int8", "pipecat_ai/pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx", mel_noise),
    Case("silero sequence", SILERO + "silero_vad_16k_sequence.onnx", speech_windows),
    Case("silero window", SILERO + "silero_vad.onnx", loudest_window),
    Case("silero batch", SILERO + "silero_vad_half.onnx", batch_of_windows),
)


def case_named(name: str) -> Case:
    """Find a case; children receive the name of their case."""
    return next(case for case in CASES if case.name == name)


def model_and_inputs(models: Path, name: str) -> tuple[Path, Inputs]:
    """Give a case's model and inputs; a name with ".onnx" is the path of another model, whose inputs are in an npz beside it."""
    if not name.endswith(".onnx"):
        case = case_named(name)
        return models / case.path, case.inputs(models)
    with np.load(Path(name).with_suffix(".npz")) as arrays:
        return Path(name), dict(arrays)
