"""What a model does in a step: it trains, reads a prompt, or makes tokens; and the requests that a serving engine computes in it.

The engine and the models of transformers are stand-ins with the names and members that the capture looks at.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import tensortap as package
from case_table import each_row
from cli_support import NativeDump, tensortap
from torch_support import Captured, capture

PHASES = ["", "prefill", "decode", "train", "warm-up"]

TRAINING = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
x, y = torch.randn(6, 8), torch.randint(0, 4, (6,))
OPTIMIZER
for step in range(2):
    model.eval()
    with torch.no_grad():
        torch.sigmoid(model(x))
    model.train()
    F.cross_entropy(model(x), y).backward()
    UPDATE
"""

TRANSFORMERS = """
import torch, torch.nn as nn
torch.manual_seed(0); torch.set_num_threads(1)
class Config:
    use_cache = True
class PreTrainedModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config()
class GenerationMixin:
    pass
class Layer:
    def __init__(self):
        self.keys = None
class DynamicCache:
    def __init__(self):
        self.layers = [Layer()]
class Model(PreTrainedModel):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(11, 8), nn.Linear(8, 11)
    def forward(self, input_ids, past_key_values=None, use_cache=None, labels=None):
        hidden = self.embed(input_ids)
        if past_key_values is not None:
            layer = past_key_values.layers[0]
            layer.keys = hidden if layer.keys is None else torch.cat((layer.keys, hidden), 1)
            hidden = hidden + layer.keys.mean(1, keepdim=True)
        return self.head(hidden)
class LlamaForCausalLM(Model, GenerationMixin):
    pass
class Encoder(Model):
    pass
model, encoder = LlamaForCausalLM().eval(), Encoder().eval()
with torch.no_grad():
    for prompt in ([[1, 2, 3]], [[4]]):
        cache = DynamicCache()
        tokens = model(input_ids=torch.tensor(prompt), past_key_values=cache, use_cache=True)[:, -1:].argmax(-1)
        for _ in range(2):
            tokens = model(input_ids=tokens, past_key_values=cache, use_cache=True)[:, -1:].argmax(-1)
        model(torch.tensor([[5, 6]]), past_key_values=cache)
    model(torch.tensor([[1, 2]]))
    model(torch.tensor([[1]]), use_cache=False)
    model(torch.tensor([[1, 2]]), labels=torch.tensor([[1, 2]]))
    encoder(torch.tensor([[1, 2]]))
"""
# The phases of the calls of the model above, then that of the encoder, which begins no step.
OF_TRANSFORMERS = 2 * ["prefill", "decode", "decode", "prefill"] + ["prefill", "", ""]

RUNNER = """
import types
import numpy as np, torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layer = nn.Embedding(97, 8), nn.Linear(8, 8)
    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        return self.layer(self.embed(input_ids))
class LogitsProcessor(nn.Module):
    def forward(self, hidden, weight):
        return hidden @ weight.T
class Sampler(nn.Module):
    def forward(self, logits):
        return logits.argmax(-1)
def padded(tokens):
    return torch.tensor(tokens + [0] * (-len(tokens) % 4))
class GPUModelRunner:
    '''The runner of NAME.'''
    def __init__(self):
        torch.manual_seed(0)
        self.model, self.logits_processor, self.sampler = Model().eval(), LogitsProcessor(), Sampler()
        self.draft, self.guesses, self.replays = nn.Bilinear(1, 1, 1), False, False
    def run(self, tokens, ends):
        if self.replays:
            hidden = torch.zeros(len(tokens), 8)
        else:
            hidden = self.model(input_ids=padded(tokens), positions=torch.arange(len(padded(tokens))))
        return self.logits_processor(hidden[ends], self.model.embed.weight)
    @torch.inference_mode()
    def sample_tokens(self):
        if self.guesses:
            self.draft(torch.ones(1, 1), torch.ones(1, 1))
        return self.sampler(self.logits).tolist()
    BODY
"""
FIRST = """
    @torch.inference_mode()
    def _dummy_run(self, num_tokens, is_profile=False):
        return self.run([7] * num_tokens, [0])
    @torch.inference_mode()
    def execute_model(self, scheduler_output, intermediate_tensors=None):
        if not scheduler_output.num_scheduled_tokens:
            self._dummy_run(1)
            return
        ids = list(scheduler_output.num_scheduled_tokens)
        rows = list(scheduler_output.num_scheduled_tokens.values())
        self.input_batch = types.SimpleNamespace(
            req_ids=ids, num_computed_tokens_cpu=np.array(scheduler_output.computed), num_prompt_tokens=np.array(scheduler_output.prompts))
        self.logits = self.run([i + 1 for i, count in enumerate(rows) for _ in range(count)], np.cumsum(rows) - 1)
"""
SECOND = """
    def _dummy_run(self, num_tokens):
        self.execute_model(types.SimpleNamespace(total=num_tokens), dummy_run=True)
    def prepare_attn(self, input_batch):
        return (), None
    @torch.inference_mode()
    def execute_model(self, scheduler_output, intermediate_tensors=None, dummy_run=False):
        if dummy_run:
            return self.run([7] * scheduler_output.total, [0])
        ids = list(scheduler_output.num_scheduled_tokens)
        rows = list(scheduler_output.num_scheduled_tokens.values())
        self.prepare_attn(types.SimpleNamespace(
            req_ids=ids, query_start_loc_np=np.cumsum([0, *rows, 0]), num_computed_tokens_np=np.array(scheduler_output.computed),
            prefill_len_np=np.array(scheduler_output.prompts), num_draft_tokens_per_req=None))
        self.logits = self.run([i + 1 for i, count in enumerate(rows) for _ in range(count)], np.cumsum(rows) - 1)
"""
SERVES = """
import types
import torch
torch.set_num_threads(1)
from vllm.v1.worker.MODULE import GPUModelRunner
class WorkerRunner(GPUModelRunner):
    pass
runner = WorkerRunner()
runner._dummy_run(6)
def serve(computed, prompts, **rows):
    runner.execute_model(types.SimpleNamespace(
        num_scheduled_tokens=rows, computed=computed, prompts=prompts, scheduled_spec_decode_tokens={}))
    print(runner.sample_tokens())
serve([0, 0], [3, 2], a=3, b=2)
serve([3, 2], [3, 2], a=1, b=1)
serve([4, 3, 0], [3, 2, 5], a=1, b=1, c=4)
serve([4, 4], [2, 5], b=1, c=1)
runner.guesses = True
serve([5, 5], [2, 5], b=1, c=1)
torch.nn.Conv1d(1, 1, 1).eval()(torch.ones(1, 1, 1))
runner.guesses = False
serve([0], [3], d=3)
runner.replays = True
serve([3], [3], d=1)
"""
KINDS = {"gpu_model_runner": FIRST, "gpu.model_runner": SECOND}
OF_ENGINE = ["warm-up", "prefill", "decode", "prefill", "prefill", "decode", "prefill"]


def phases(dump: NativeDump, op_type: str) -> list[str]:
    """Give the phase of each execution of an op's type, by step."""
    wanted = [number for number, op in dump.ops.items() if op["type"] == op_type]
    seen: dict[tuple[int, int, int], str] = {}
    for row in dump.rows[np.isin(dump.rows["op"], wanted)]:
        phase = PHASES[row["model_phase"]]
        assert seen.setdefault((int(row["step"]), int(row["op"]), int(row["call"])), phase) == phase
    return [seen[key] for key in sorted(seen)]


def served(folder: Path, module: str, *options: str) -> Captured:
    """Capture the engine with one of its two kinds of runners."""
    place = folder / "vllm/v1/worker"
    for package_folder in (place / "gpu", place, place.parent, place.parent.parent):
        package_folder.mkdir(parents=True, exist_ok=True)
        (package_folder / "__init__.py").touch()
    (place / (module.replace(".", "/") + ".py")).write_text(RUNNER.replace("NAME", module).replace("BODY", KINDS[module].strip()))
    done = capture(folder, SERVES.replace("MODULE", module), options=options)
    assert done.code == 0, done.err
    return done


def test_a_training_is_told_from_what_is_only_evaluated(tmp_path: Path) -> None:
    program = TRAINING.replace("OPTIMIZER", "optimizer = torch.optim.SGD(model.parameters(), 0.1)")
    dump = capture(tmp_path, program.replace("UPDATE", "optimizer.step(); optimizer.zero_grad()")).dump
    assert phases(dump, "sigmoid") == ["", ""]
    assert phases(dump, "nll_loss_forward") == phases(dump, "nll_loss_backward") == ["train", "train"]
    updates = dump.rows[dump.rows["phase"] == 3]
    assert set(updates["model_phase"].tolist()) == {PHASES.index("train")}


def test_a_program_without_an_optimizer_does_not_train(tmp_path: Path) -> None:
    dump = capture(tmp_path, TRAINING.replace("OPTIMIZER", "").replace("UPDATE", "model.zero_grad()")).dump
    assert phases(dump, "nll_loss_forward") == ["", ""], "it forgot eval(), or measures"


@each_row("name", ["past_key_values", "cache"])
def test_a_call_with_a_cache_is_a_prefill_or_a_decode(tmp_path: Path, name: str) -> None:
    dump = capture(tmp_path, TRANSFORMERS.replace("past_key_values=", f"{name}=").replace("past_key_values", name)).dump
    of_head = phases(dump, "addmm")
    assert of_head[:-1] == OF_TRANSFORMERS
    assert of_head[-1] == "", "an encoder has no cache"
    decoded = tensortap("ls", dump.folder, "--types", "embedding", "--slots", "out", "--where", "model_phase == 'decode'", "--json").objects
    assert [one["step"] for one in decoded] == [1, 2, 5, 6]
    assert {one["model_phase"] for one in decoded} == {"decode"}
    assert "decode" in tensortap("show", dump.folder, "--ops", "embedding", "--slots", "out", "--steps", "1").out
    compared = tensortap("compare", dump.folder, dump.folder, "--steps", "decode", "--json")
    assert compared.code == 0, compared.err
    assert tensortap("compare", dump.folder, dump.folder, "--steps", "train").code == 2


def test_what_the_program_says_of_its_rounds_counts(tmp_path: Path) -> None:
    said = "import tensortap\nwith tensortap.round(phase='prefill'):\n        model(input_ids=tokens, past_key_values=cache)\n"
    program = TRANSFORMERS.replace("    model(torch.tensor([[1, 2]]))\n", "    " + said.replace("\n", "\n    ") + "\n")
    dump = capture(tmp_path, program, environment={"PYTHONPATH": str(Path(package.__file__).parent.parent)}).dump
    assert phases(dump, "addmm")[8] == "prefill"


def test_a_round_of_an_engine_has_a_phase_and_its_requests(tmp_path: Path) -> None:
    for module in KINDS:
        folder = tmp_path / module
        folder.mkdir()
        dump = served(folder, module, "--full").dump
        assert phases(dump, "addmm") == OF_ENGINE, module
        assert phases(dump, "mm") == [*OF_ENGINE, "decode"], "also of a round whose model is a graph of a device"
        assert phases(dump, "argmax") == [*OF_ENGINE[1:], "decode"], module
        assert phases(dump, "_trilinear") == ["decode"], "a model that guesses tokens"
        assert phases(dump, "convolution") == [""], "a model outside of the engine"
        lines = [json.loads(line) for line in (dump.folder / "requests.jsonl").read_text().splitlines()]
        assert [(line["step"], line["model_phase"], line["rows"]) for line in lines] == [
            (1, "prefill", 8), (2, "decode", 4), (3, "prefill", 8), (4, "prefill", 4), (5, "decode", 4),
            (6, "prefill", 4), (7, "decode", 1),
        ]  # fmt: skip
        prepared = dump.rows[(dump.rows["step"] == 2) & (dump.rows["model_phase"] == 0)]
        assert {dump.ops[op]["type"] for op in prepared["op"]} >= {"arange"}, "inputs are prepared in their round"
        assert lines[2]["requests"] == [
            {"id": "a", "first_row": 0, "rows": 1, "position": 4, "prompt": 3},
            {"id": "b", "first_row": 1, "rows": 1, "position": 3, "prompt": 2},
            {"id": "c", "first_row": 2, "rows": 4, "position": 0, "prompt": 5},
        ]
        assert package.open(dump.folder).requests() == lines
        done = tensortap("convert", dump.folder, folder / "copy", "--to", "tap", "--steps", "3-5")
        assert done.code == 0, done.err
        assert package.open(folder / "copy").requests() == lines[2:5]
        done = tensortap("convert", dump.folder, folder / "tree", "--to", "mindspore")
        assert "requests of serving engines" in done.err, done.err
        assert package.open(folder / "tree").requests() == lines
        assert (
            tensortap("ls", folder / "tree", "--requests", "--json").objects == tensortap("ls", dump.folder, "--requests", "--json").objects
        )
        assert "requests.jsonl" in json.loads((dump.folder / "run.json").read_text())["files"]


def test_the_rows_of_a_request_can_be_listed_and_shown(tmp_path: Path) -> None:
    folder = str(served(tmp_path, "gpu_model_runner", "--full").dump.folder)
    listed = tensortap("ls", folder, "--requests")
    assert listed.code == 0
    assert [line.split() for line in listed.out.splitlines()][:3] == [
        ["step", "model_phase", "request", "rows", "of", "position", "prompt"],
        ["1", "prefill", "a", "0-2", "8", "0", "3"],
        ["1", "prefill", "b", "3-4", "8", "0", "2"],
    ]
    assert [one["step"] for one in tensortap("ls", folder, "--requests", "--json", "--steps", "2-3").objects] == [2, 3]
    assert [one["step"] for one in tensortap("ls", folder, "--requests", "--json", "--last", "1").objects] == [7]
    assert tensortap("ls", folder, "--requests", "--types", "mm").code == 2

    dump = package.open(folder)
    whole, logits, table = "Model.layer/addmm:out0@3", "Sampler/argmax:in0@3", "Model.embed/embedding:in0@3"
    shown: Any = tensortap("show", folder, whole, "--request", "c", "--json").objects[0]
    assert shown["request"] == {"id": "c", "rows": "2:6"}
    assert np.array_equal(np.array(shown["values"], np.float32), dump[whole][2:6])
    of_logits = tensortap("show", folder, logits, "--request", "c", "--npy", str(tmp_path / "c.npy"))
    assert "request c" in of_logits.out, of_logits.err
    assert np.array_equal(np.load(tmp_path / "c.npy"), dump[logits][2:3]), "a row for each request"
    assert "has no part in step 3" not in of_logits.err
    wrong = tensortap("show", folder, whole, "--request", "z")
    assert wrong.code == 2 and "it is of a, b, c" in wrong.err, wrong.err
    for name, reason in (
        (table, "is a parameter"),
        ("Model.layer/addmm:in0@2", "is a parameter"),
        ("Model.layer/addmm:out0", "no requests of step 0"),
    ):
        refused = tensortap("show", folder, name, "--request", "a")
        assert refused.code == 2 and reason in refused.err, (name, refused.err)
    assert tensortap("show", folder, whole, "--request", "c", "--at", "0").code == 2


def test_steps_that_are_not_captured_list_no_requests(tmp_path: Path) -> None:
    dump = served(tmp_path, "gpu_model_runner", "--steps", "2,4").dump
    assert [one["step"] for one in package.open(dump.folder).requests()] == [2, 4]


def test_other_programs_have_no_requests(tmp_path: Path) -> None:
    dump = capture(tmp_path, "import torch\ntorch.nn.Linear(2, 2)(torch.ones(1, 2))").dump
    assert not (dump.folder / "requests.jsonl").exists()
    listed = tensortap("ls", dump.folder, "--requests")
    assert listed.code == 0 and listed.out == "" and "no requests" in listed.err
