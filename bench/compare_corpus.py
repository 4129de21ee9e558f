"""The pairs that compare_faults.py judges: faults of known places, and programs that compute the same."""

from __future__ import annotations

from dataclasses import dataclass, field

from compare_models import ONNX_FAULTS

# Where the culprit is, by fault of the PyTorch networks.
TRANSFORMER = {
    "weight_element": r"layers\.1\.up\b",
    "bit_flip": r"layers\.1\.attention\.v\b",
    "transposed": r"layers\.1\.attention\.o\b",
    "swapped_axis": r"layers\.1\.attention/(flip|bmm|matmul|expand|clone|_unsafe_view|view)",
    "rotary_base": r"layers\.1\.attention/(pow|div|arange|cos|sin|full)",
    "rotary_sign": r"layers\.1\.attention/(mul|sin|sub|cat)",
    "cache_shift": r"layers\.1\.attention/(add|div|unsqueeze|arange|cos|sin)",
    "missing_scale": r"layers\.1\.attention/(div|add|softmax|_softmax)",
    "mask_shift": r"layers\.1\.attention/(triu|add|full)",
    "softmax_axis": r"layers\.1\.attention/_?softmax",
    "epsilon": r"layers\.1\.norm1\b",
    "gelu": r"layers\.1/gelu",
    "activation": r"layers\.1/(gelu|silu)",
    "dropout": r"layers\.1(\.drop)?/|layers\.1\.drop",
    "skipped_layer": r"layers\.(1|2)\b|layers\.0/add",
    "op_order": r"layers\.1(\.norm1|\.attention)?\b",
    "cast": r"layers\.1(\.up)?/",
    "partial_checkpoint": r"layers\.2\.down\b",
    "untied": r"head",
    "input": r"embedding|words|input",
}
CONVOLUTIONS = {
    "padding": r"second/",
    "layout": r"(permute|clone|view|max_pool2d)",
    "pooling": r"(avg_pool2d|max_pool2d)",
    "saturation": r"sigmoid",
    "statistics": r"norm2",
    "mode": r"norm2",
    "preprocessing": r"first|input|mul|convolution",
}
TRAINING = {
    "decay": r"adamw|optimizer|mul_|foreach|addcdiv",
    "betas": r"adamw|optimizer|mul_|addcmul|foreach|lerp|addcdiv|div|sqrt|pow",
    "rate": r"adamw|optimizer|mul_|foreach|addcdiv|div",
    "smoothing": r"nll|loss|mul|add|sum|mean|div|log_softmax",
    "loss_scale": r"mul|nll|loss",
    "clipping": r"mul_|clamp|norm|foreach|adamw|addcdiv|lerp",
}
BF16_ONLY = (
    "weight_element",
    "transposed",
    "rotary_sign",
    "missing_scale",
    "softmax_axis",
    "gelu",
    "skipped_layer",
    "dropout",
    "op_order",
    "rotary_base",
    "mask_shift",
    "swapped_axis",
    "activation",
    "cache_shift",
    "partial_checkpoint",
    "untied",
)


@dataclass(frozen=True)
class Pair:
    """Two dumps by name; `culprit` is empty for a sound pair."""

    name: str
    a: str
    b: str
    culprit: str = ""


@dataclass
class Corpus:
    """What to run, and what to compare."""

    runs: dict[str, list[str]] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)

    def torch(self, **options: str) -> str:
        """Name the dump of a PyTorch program with these arguments."""
        name = "torch_" + "_".join(f"{key}-{value}" for key, value in options.items())
        self.runs.setdefault(name, ["torch", *(f"{key}={value}" for key, value in options.items())])
        return name

    def onnx(self, model: str, *options: str, runtime: str = "") -> str:
        """Name the dump of a model that runs with these options."""
        name = "_".join(["onnx", model, *(option.strip("-").replace(" ", "") for option in options), runtime]).strip("_")
        self.runs.setdefault(name, ["onnx", model, runtime, *options])
        return name

    def add(self, name: str, a: str, b: str, culprit: str = "") -> None:
        """Add a pair."""
        self.pairs.append(Pair(name, a, b, culprit))


def corpus(runtimes: list[str]) -> Corpus:
    """Every pair."""
    made = Corpus()
    for dtype, faults in (("f32", list(TRANSFORMER)), ("bf16", list(BF16_ONLY))):
        right = made.torch(dtype=dtype)
        for fault in faults:
            made.add(f"torch {dtype} {fault}", made.torch(dtype=dtype, fault=fault), right, TRANSFORMER[fault])
    exact = made.torch(dtype="f32")
    for fault in ("missing_scale", "softmax_axis", "rotary_sign", "activation", "skipped_layer", "transposed"):
        made.add(f"torch bf16/f32 {fault}", made.torch(dtype="bf16", fault=fault), exact, TRANSFORMER[fault])
    image = made.torch(network="convolutions", dtype="f32")
    for fault, culprit in CONVOLUTIONS.items():
        made.add(f"torch conv {fault}", made.torch(network="convolutions", dtype="f32", fault=fault), image, culprit)
    trained = made.torch(train="1", threads="1")
    for fault, culprit in TRAINING.items():
        made.add(f"torch train {fault}", made.torch(train="1", threads="1", fault=fault), trained, culprit)
    sound_torch(made)
    for fault, culprit in ONNX_FAULTS.items():
        for a, b in (("--as-written", "--as-written"), ("", ""), ("", "--as-written")):
            name = f"{'written' if a else 'optimised'}/{'written' if b else 'optimised'}"
            made.add(f"onnx f32 {name} {fault}", onnx_run(made, f"net-{fault}", a), onnx_run(made, "net", b), culprit)
        # All of that model is float16: a cast to it is no fault.
        if fault == "cast":
            continue
        wrong, right = onnx_run(made, f"half-{fault}", "--as-written"), onnx_run(made, "half", "--as-written")
        made.add(f"onnx f16 written {fault}", wrong, right, culprit)
        if fault != "epsilon":
            made.add(f"onnx f16/f32 {fault}", wrong, onnx_run(made, "net", "--as-written"), culprit)
    for bad in range(1, 4):
        place = rf"/D?Q{bad}\b|layer{bad - 1}/conv"
        made.add(
            f"onnx qdq/float scale {bad}", onnx_run(made, f"q-bad{bad}", "--as-written"), onnx_run(made, "q-float", "--as-written"), place
        )
    for fault in ("weight", "padding"):
        made.add(
            f"onnx qdq/float {fault}",
            onnx_run(made, f"q-{fault}", "--as-written"),
            onnx_run(made, "q-float", "--as-written"),
            r"DW1|layer1|w1|wq1|Q2",
        )
    sound_onnx(made, runtimes)
    return made


def onnx_run(made: Corpus, model: str, option: str, *others: str, runtime: str = "") -> str:
    """Name the dump of a model; `option` may be empty."""
    return made.onnx(model, *([option] if option else []), *others, runtime=runtime)


def sound_torch(made: Corpus) -> None:
    """PyTorch programs that compute the same."""
    for dtype in ("f32", "bf16", "f16"):
        right = made.torch(dtype=dtype)
        for form in ("sdpa", "fused", "manual_gelu"):
            made.add(f"sound torch {dtype} {form}", made.torch(dtype=dtype, form=form), right)
        made.add(f"sound torch {dtype} threads", made.torch(dtype=dtype, threads="2"), right)
        made.add(f"sound torch {dtype} drawn", made.torch(dtype=dtype, init="3"), right)
        made.add(f"sound torch {dtype} seed sdpa", made.torch(dtype=dtype, seed="4", form="sdpa"), made.torch(dtype=dtype, seed="4"))
    for a, b in (("bf16", "f32"), ("f16", "f32"), ("f64", "f32"), ("bf16", "f16"), ("f32", "f64")):
        made.add(f"sound torch {a}/{b}", made.torch(dtype=a), made.torch(dtype=b))
        made.add(f"sound torch {a}/{b} seed", made.torch(dtype=a, seed="4"), made.torch(dtype=b, seed="4"))
        made.add(f"sound torch conv {a}/{b}", made.torch(network="convolutions", dtype=a), made.torch(network="convolutions", dtype=b))
        made.add(f"sound torch {a}/{b} sdpa", made.torch(dtype=a, form="sdpa"), made.torch(dtype=b))
    image = made.torch(network="convolutions", dtype="f32")
    made.add("sound torch conv threads", made.torch(network="convolutions", dtype="f32", threads="2"), image)
    made.add("sound torch conv channels last", made.torch(network="convolutions", dtype="f32", form="channels_last"), image)
    made.add(
        "sound torch conv bf16 threads",
        made.torch(network="convolutions", dtype="bf16", threads="2"),
        made.torch(network="convolutions", dtype="bf16"),
    )
    made.add("sound torch compiled", made.torch(dtype="f32", form="compiled", backend="aot_eager"), made.torch(dtype="f32"))
    trained = made.torch(train="1", threads="1")
    made.add("sound torch train threads", made.torch(train="1", threads="2"), trained)
    made.add("sound torch train drawn", made.torch(train="1", threads="1", init="8"), trained)
    made.add("sound torch train fused", made.torch(train="1", threads="1", form="fused"), trained)
    conv = made.torch(network="convolutions", train="1", threads="1")
    made.add("sound torch train conv threads", made.torch(network="convolutions", train="1", threads="2"), conv)
    made.add("sound torch train conv channels last", made.torch(network="convolutions", train="1", threads="1", form="channels_last"), conv)
    half = made.torch(dtype="bf16", train="1", threads="1")
    made.add("sound torch train bf16 threads", made.torch(dtype="bf16", train="1", threads="2"), half)


def sound_onnx(made: Corpus, runtimes: list[str]) -> None:
    """ONNX models that compute the same."""
    for model in ("net", "half", "net-seed", "q-good", "q-float", *(f"net-{fault}" for fault in ("gelu", "alpha", "skipped"))):
        written = onnx_run(made, model, "--as-written")
        made.add(f"sound onnx {model} optimised/written", onnx_run(made, model, ""), written)
        made.add(f"sound onnx {model} threads", onnx_run(made, model, "--as-written", "--threads 2"), written)
        for runtime in runtimes:
            made.add(f"sound onnx {model} release {runtime}", onnx_run(made, model, "", runtime=runtime), onnx_run(made, model, ""))
    for option in ("", "--as-written"):
        made.add(f"sound onnx f16/f32 {option}", onnx_run(made, "half", option), onnx_run(made, "net", option))
    made.add("sound onnx f16 optimised/f32 written", onnx_run(made, "half", ""), onnx_run(made, "net", "--as-written"))
    made.add("sound onnx qdq/float", onnx_run(made, "q-good", "--as-written"), onnx_run(made, "q-float", "--as-written"))
    made.add("sound onnx qdq/float seed", onnx_run(made, "q-good-seed", "--as-written"), onnx_run(made, "q-float-seed", "--as-written"))
    made.add("sound onnx qdq/qdq scales", onnx_run(made, "q-fine", "--as-written"), onnx_run(made, "q-good", "--as-written"))
