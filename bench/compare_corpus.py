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
    "unscaled": r"div|mul|norm|foreach|adamw",
    "clipping": r"mul_|clamp|norm|foreach|adamw|addcdiv|lerp",
    "clipped_values": r"mul_|clamp|norm|foreach|adamw|addcdiv|lerp",
    "clipping_limit": r"mul_|mul|div|clamp|norm|foreach|reciprocal",
    "adam_epsilon": r"adamw|optimizer|AdamW|add_|addcdiv|foreach",
    "coupled_decay": r"adam|Adam|optimizer|mul_|add_?|foreach|lerp",
    "seed": r"drop|bernoulli",
}
# For the stochastic gradient descent.
DESCENT = {
    "momentum": r"SGD|mul_|foreach|add_",
    "nesterov": r"SGD|add|foreach",
    "rate": r"SGD|add_|foreach",
}
# Where the culprit is, by fault of the language model.
ENGINE = {
    "attention_scale": r"(layers|blocks)\.1\b.*(attention|softmax|mul|add)|(layers|blocks)\.1\.attention",
    "position": r"add|arange|mul|div|cos|sin|attention|Model \(Model\), in what it passes to",
    "base": r"pow|div|cos|sin|attention|Model \(Model\), in what it passes to",
    "epsilon": r"(layers|blocks)\.1\.norm\b",
    "weight": r"(layers|blocks)\.1\.up\b",
    "transposed": r"(layers|blocks)\.1\.attention",
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

    def engine(self, **options: str) -> str:
        """Name the dump of the language model with these arguments."""
        name = "engine_" + "_".join(f"{key}-{value}" for key, value in options.items())
        self.runs.setdefault(name, ["engine", *(f"{key}={value}" for key, value in options.items())])
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
    descent = made.torch(train="1", threads="1", optimizer="sgd")
    for fault, culprit in DESCENT.items():
        made.add(f"torch train sgd {fault}", made.torch(train="1", threads="1", optimizer="sgd", fault=fault), descent, culprit)
    low = made.torch(dtype="bf16", train="1", threads="1")
    for fault in ("decay", "rate", "smoothing", "loss_scale", "clipping", "seed"):
        made.add(f"torch train bf16 {fault}", made.torch(dtype="bf16", train="1", threads="1", fault=fault), low, TRAINING[fault])
    hashed = made.torch(network="hashed", dtype="f32")
    made.add("torch f32 overflow", made.torch(network="hashed", dtype="f32", fault="overflow"), hashed, r"mul|_to_copy|remainder|hash")
    overflows = {"large": r"layers\.1(\.up)?/|mul_", "masked": r"layers\.1\.attention/(full|triu|add|_?softmax|mul|_to_copy)"}
    for fault, culprit in overflows.items():
        made.add(f"torch f16/f32 {fault}", made.torch(dtype="f16", fault=fault), made.torch(dtype="f32", fault=fault), culprit)
    sound_torch(made)
    engines(made)
    made.add(
        "onnx f32 opset", onnx_run(made, "axis-opset12", "--as-written"), onnx_run(made, "axis-opset13", "--as-written"), r"enc\.1/Softmax"
    )
    made.add("onnx int overflow", onnx_run(made, "bins-overflow", "--as-written"), onnx_run(made, "bins", "--as-written"), r"/bins/")
    for fault, culprit in (("large", r"enc\.1/(up|act)"), ("masked", r"enc\.1[./](mask|Softmax)")):
        wrong, right = onnx_run(made, f"half-{fault}", "--as-written"), onnx_run(made, f"net-{fault}", "--as-written")
        made.add(f"onnx f16/f32 {fault}", wrong, right, culprit)
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


def engines(made: Corpus) -> None:
    """Two implementations of one language model, calls of modules alone, and matrices in codes."""
    for levels in ("op", "module"):
        right = made.engine(levels=levels, form="reference")
        for fault, culprit in ENGINE.items():
            made.add(f"engine {levels} {fault}", made.engine(levels=levels, form="reference", fault=fault), right, culprit)
        engine = made.engine(levels=levels, form="engine")
        for fault in ("attention_scale", "epsilon", "weight", "transposed"):
            made.add(f"engine {levels} {fault} engine", made.engine(levels=levels, form="engine", fault=fault), engine, ENGINE[fault])
        made.add(f"sound engine {levels} engine", engine, right)
        for bits in ("8", "4"):
            coded = made.engine(levels=levels, form="reference", quant=bits)
            made.add(f"sound engine {levels} {bits} bits", coded, right)
            for fault in ("scale", "transposed"):
                wrong = made.engine(levels=levels, form="reference", quant=bits, fault=fault)
                made.add(f"engine {levels} {bits} bits {fault}", wrong, right, ENGINE.get(fault, r"layers\.1(\.down)?\b"))
    right, wrong = made.engine(levels="op", form="reference"), r"(layers|blocks)\.1\b"
    made.add("engine other attention_scale", made.engine(levels="op", form="engine", fault="attention_scale"), right, wrong)
    made.add("engine other row", made.engine(levels="op", form="engine", fault="row"), right, r"select|slice|final|head")
    made.add("engine other epsilon", made.engine(levels="op", form="engine", fault="epsilon"), right, wrong)
    made.add("engine other weight", made.engine(levels="op", form="engine", fault="weight"), right, wrong)
    low = made.engine(levels="op", form="reference", dtype="bf16")
    made.add("sound engine bf16 engine", made.engine(levels="op", form="engine", dtype="bf16"), low)
    made.add("sound engine bf16/f32", low, right)
    made.add(
        "sound engine module bf16/f32",
        made.engine(levels="module", form="reference", dtype="bf16"),
        made.engine(levels="module", form="reference"),
    )


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
    descent = made.torch(train="1", threads="1", optimizer="sgd")
    made.add("sound torch train sgd drawn", made.torch(train="1", threads="1", optimizer="sgd", init="8"), descent)
    made.add(
        "sound torch hashed threads", made.torch(network="hashed", dtype="f32", threads="2"), made.torch(network="hashed", dtype="f32")
    )
    for levels in ("module", "op,module"):
        alike = {"levels": levels, "dtype": "f32"}
        made.add(f"sound torch {levels} threads", made.torch(**alike, threads="2"), made.torch(**alike))
        made.add(f"sound torch {levels} sdpa", made.torch(**alike, form="sdpa"), made.torch(**alike))
        for fault in ("missing_scale", "weight_element", "rotary_base", "skipped_layer", "dropout", "epsilon", "activation"):
            wrong = made.torch(**alike, fault=fault)
            made.add(f"torch {levels} {fault}", wrong, made.torch(**alike), r"layers\.1\b|layers\.2\.norm1")
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
    for opset in ("13", "18"):
        made.add(f"sound onnx opset {opset}", onnx_run(made, f"net-opset{opset}", "--as-written"), onnx_run(made, "net", "--as-written"))
        made.add(f"sound onnx opset {opset} optimised", onnx_run(made, f"net-opset{opset}", ""), onnx_run(made, "net", ""))
    for model in ("net-large", "net-masked", "bins", "axis-opset13"):
        made.add(f"sound onnx {model} optimised/written", onnx_run(made, model, ""), onnx_run(made, model, "--as-written"))
    made.add("sound onnx f16 optimised/f32 written", onnx_run(made, "half", ""), onnx_run(made, "net", "--as-written"))
    made.add("sound onnx qdq/float", onnx_run(made, "q-good", "--as-written"), onnx_run(made, "q-float", "--as-written"))
    made.add("sound onnx qdq/float seed", onnx_run(made, "q-good-seed", "--as-written"), onnx_run(made, "q-float-seed", "--as-written"))
    made.add("sound onnx qdq/qdq scales", onnx_run(made, "q-fine", "--as-written"), onnx_run(made, "q-good", "--as-written"))
