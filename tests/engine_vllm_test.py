"""vLLM in its default mode under `tensortap exec`: `./dev test --engines` brings it.

The engine compiles its model with its own backends and runs it in a subprocess of the program.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensortap as package
from cli_support import COMMAND, tensortap

PYTHON = os.environ.get("TENSORTAP_TEST_VLLM", "")
PROGRAM = Path(__file__).parent / "programs" / "vllm_generates.py"

pytestmark = pytest.mark.skipif(not PYTHON, reason="vLLM is brought by ./dev test --engines alone")


def generated(folder: Path, *before: str, behind: tuple[str, ...] = ()) -> list[str]:
    """Run the program, and give the lines of what the engine generated."""
    environment = {
        **os.environ,
        "HOME": str(folder),
        "PATH": f"{Path(PYTHON).parent}:{os.environ['PATH']}",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    words = [*before, PYTHON, str(PROGRAM), str(folder / "model"), *behind]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr[-4000:]
    return [line for line in done.stdout.splitlines() if line.startswith("generated ")]


def test_an_engine_that_compiles_ahead_of_time_generates_what_it_does_without_capture(tmp_path: Path) -> None:
    expected = generated(tmp_path)
    assert len(expected) == 3
    assert generated(tmp_path, str(COMMAND), "exec", "--out", str(tmp_path / "dump"), "--") == expected
    runs = [json.loads(file.read_text()) for file in (tmp_path / "dump").rglob("run.json")]
    reasons = [entry["reason"] for run in runs for entry in run["ops"]["not_captured"]]
    # The engine kills its processes, at times before they have written their reports.
    if len(runs) == len(list((tmp_path / "dump").rglob("records.npy"))):
        assert any("fused" in reason for reason in reasons), "the kernels of compiled graphs are not captured"
    found = tensortap("find", tmp_path / "dump")
    assert found.code in (0, 3), found.out
    assert "NaN" not in found.out.splitlines()[0] or "no NaN" in found.out.splitlines()[0], found.out


def rounds_of(dump: Path) -> tuple[Path, list[dict[str, Any]]]:
    """Give the part of the dump that has requests, and its rounds."""
    (file,) = dump.rglob("requests.jsonl")
    return file.parent, package.open(file.parent).requests()


def has_right_rows(rounds: list[dict[str, Any]], made: int) -> None:
    """Check that each request reads its prompt and then makes a token a round, in rows that lie one behind the other."""
    done: dict[str, int] = {}
    for one in rounds:
        row = 0
        for request in one["requests"]:
            assert request["first_row"] == row
            row += request["rows"]
            assert request["position"] == done.get(request["id"], 0)
            done[request["id"]] = request["position"] + request["rows"]
        assert row <= one["rows"]
        reads = any(request["position"] < request["prompt"] for request in one["requests"])
        assert one["model_phase"] == ("prefill" if reads else "decode")
    prompts = {request["id"]: request["prompt"] for one in rounds for request in one["requests"]}
    assert sorted(prompts.values()) == [1, 3, 4]
    assert all(done[request] == prompt + made - 1 for request, prompt in prompts.items()), "the last token is not read again"


def test_rounds_are_prefills_and_decodes_of_requests(tmp_path: Path) -> None:
    generated(tmp_path, str(COMMAND), "exec", "--out", str(tmp_path / "dump"), "--")
    part, rounds = rounds_of(tmp_path / "dump")
    has_right_rows(rounds, 16)
    found = {one["step"]: one["model_phase"] for one in rounds}
    assert list(found.values()).count("decode") >= 15
    dump = package.open(part)
    of_steps: dict[int, set[int]] = {}
    for row in dump.records:
        of_steps.setdefault(int(row["step"]), set()).add(int(row["model_phase"]))
    assert of_steps[0] <= {0, 4} and 4 in of_steps[0], "the warm-up and what comes before it"
    assert list(found) == list(range(1, len(found) + 1))
    assert all(of_steps[step] == {0, 1 if phase == "prefill" else 2} for step, phase in found.items()), "inputs are prepared first"
    listed = tensortap("ls", tmp_path / "dump", "--requests", "--json").objects
    assert [one["model_phase"] for one in listed] == [one["model_phase"] for one in rounds]
    decoded = tensortap("ls", tmp_path / "dump", "--where", "model_phase == 'decode'", "--types", "argmax", "--json").listed
    assert {one["step"] for one in decoded} <= {step for step, phase in found.items() if phase == "decode"}
    assert tensortap("compare", part, part, "--steps", "decode").code in (0, 3)


def test_the_rows_of_a_request_hold_its_tokens(tmp_path: Path) -> None:
    kept = ("--full", "--types", "embedding")
    lines = generated(tmp_path, str(COMMAND), "exec", *kept, "--out", str(tmp_path / "dump"), "--", behind=("eager",))
    part, rounds = rounds_of(tmp_path / "dump")
    has_right_rows(rounds, 16)
    dump = package.open(part)
    read: dict[str, list[int]] = {}
    for one in rounds:
        (record,) = [
            name for name in dump.names() if ":in1" in name and (name.endswith(f"@{one['step']}") or (one["step"] == 0 and "@" not in name))
        ]
        for request in one["requests"]:
            rows = dump[record][request["first_row"] : request["first_row"] + request["rows"]]
            read.setdefault(request["id"], []).extend(int(token) for token in rows)
            shown = tensortap("show", part, record, "--request", request["id"], "--json").object
            assert np.array_equal(np.array(shown["values"]), rows)
    words = [[int(word[1:]) for word in line.split(" [", 1)[0].split()[1:]] for line in lines]
    prompts = [[3, 4, 5], [9, 8, 7, 6], [20]]
    for request, (prompt, answer) in zip(sorted(read), zip(prompts, words, strict=True), strict=True):
        tokens = [token for token in read[request] if token > 1]  # the text leaves out the two special ones
        assert len(read[request]) == len(prompt) + 15
        assert tokens == [*prompt, *answer][: len(tokens)] and len(tokens) >= len(prompt) + len(answer) - 1, (
            "the last one is not read again"
        )


GENERATES = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MambaConfig, MambaForCausalLM
torch.manual_seed(0); torch.set_num_threads(1)
sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1}
how = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
for kept in ({}, {"cache_implementation": "static", "disable_compile": True}, {"use_cache": False}):
    model = LlamaForCausalLM(LlamaConfig(vocab_size=50, max_position_embeddings=64, **sizes)).eval()
    print(model.generate(torch.tensor([[1, 2, 3]]), **how, **kept).tolist())
model = MambaForCausalLM(MambaConfig(vocab_size=50, hidden_size=16, state_size=4, num_hidden_layers=1)).eval()
print(model.generate(torch.tensor([[1, 2, 3]]), **how).tolist())
"""


def test_a_model_of_transformers_reads_its_prompt_and_makes_tokens(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(GENERATES)
    environment = {**os.environ, "HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    words = [str(COMMAND), "exec", "--out", str(tmp_path / "dump"), "--types", "embedding", "--slots", "out", "--", PYTHON, "program.py"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    phases = [one.get("model_phase", "") for one in tensortap("ls", tmp_path / "dump", "--json").objects]
    generated = ["prefill", "decode", "decode", "decode"]
    assert phases == [*generated, *generated, *4 * [""], *generated]
