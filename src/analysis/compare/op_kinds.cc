#include "compare/op_kinds.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "compare/pairing_keys.h"

namespace tensortap {
namespace {

// Families, as PairingKeys::family() calls them.
constexpr auto kMovingKinds = std::to_array<std::string_view>(
    {"abs",    "alias",           "asstrided", "cast",         "clip",          "clone",   "concat",    "contiguous", "copy",
     "detach", "dropout",         "expand",    "flip",         "identity",      "index",   "liftfresh", "max pool",   "neg",
     "pad",    "reflectionpad2d", "relu",      "reorderinput", "reorderoutput", "reshape", "select",    "setrows",    "slice",
     "split",  "squeeze",         "stack",     "transpose",    "tril",          "triu",    "unbind",    "unsqueeze",  "where"});
constexpr auto kSummingKinds = std::to_array<std::string_view>(
    {"add", "batch norm gradient", "convolutionbackward", "embeddingdensebackward", "nativelayernormbackward", "sub", "sum"});
constexpr auto kReductions = std::to_array<std::string_view>({"average pool",
                                                              "binarycrossentropy",
                                                              "binarycrossentropywithlogits",
                                                              "crossentropyloss",
                                                              "dot",
                                                              "huberloss",
                                                              "kldiv",
                                                              "l1loss",
                                                              "logsumexp",
                                                              "mean",
                                                              "mseloss",
                                                              "nanmean",
                                                              "nansum",
                                                              "nllloss",
                                                              "nllloss2d",
                                                              "nllloss2dforward",
                                                              "nlllossforward",
                                                              "prod",
                                                              "reducelogsum",
                                                              "reducelogsumexp",
                                                              "reduceprod",
                                                              "smoothl1loss",
                                                              "softmarginloss",
                                                              "softmaxcrossentropyloss",
                                                              "softmaxcrossentropywithlogits",
                                                              "std",
                                                              "stdmean",
                                                              "sum",
                                                              "trace",
                                                              "var",
                                                              "varmean",
                                                              "vdot"});
constexpr auto kMagnitudes = std::to_array<std::string_view>(
    {"dist", "foreachnorm", "linalgnorm", "linalgvectornorm", "lpnorm", "norm", "reducel1", "reducel2", "reducesumsquare"});
constexpr auto kOverlays = std::to_array<std::string_view>({"add", "concat", "maskedfill", "pad", "sub", "where"});
constexpr auto kContracting =
    std::to_array<std::string_view>({"atan", "cos", "erf", "gelu", "hardsigmoid", "sigmoid", "silu", "sin", "softplus", "tanh"});
constexpr auto kSoftmaxes = std::to_array<std::string_view>({"logsoftmax", "softmax"});
constexpr auto kNorms = std::to_array<std::string_view>({"batch norm", "layer norm", "nativegroupnorm"});
constexpr auto kDefining =
    std::to_array<std::string_view>({"attention", "batch norm", "conv", "groupqueryattention", "gru", "layer norm", "linear", "logsoftmax",
                                     "lstm", "multiheadattention", "nativegroupnorm", "rmsnorm", "softmax"});
constexpr auto kGates = std::to_array<std::string_view>(
    {"hardsigmoidbackward", "hardswishbackward", "hardtanhbackward", "leakyrelubackward", "max pool gradient", "relu gradient"});
constexpr auto kTrainingSettings = std::to_array<std::string_view>({"\"training\":true", "\"train\":true", "\"training_mode\":1"});
constexpr auto kGradientKinds =
    std::to_array<std::string_view>({"batch norm gradient", "convolutionbackward", "nativegroupnormbackward", "nativelayernormbackward"});

bool is_listed(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

Reduction reduction_of(std::string_view family) {
  if (is_listed(kMagnitudes, family)) return Reduction::kMagnitudes;
  return is_listed(kReductions, family) ? Reduction::kSum : Reduction::kNone;
}

bool trains(const OpInfo& op) {
  return std::ranges::any_of(kTrainingSettings,
                             [&op](std::string_view setting) { return op.attributes.find(setting) != std::string::npos; });
}

constexpr auto kDrawingTypes =
    std::to_array<std::string_view>({"bernoulli", "bernoulli_", "multinomial", "normal", "normal_", "rand", "rand_like", "randint", "randn",
                                     "randn_like", "random_", "randperm", "uniform", "uniform_"});

// Parts of the names of ops and modules that compute with codes of 4 bits (or of an unknown number) and of 8 bits.
constexpr auto kOf4Bits = std::to_array<std::string_view>(
    {"NBits", "Bnb4", "4bit", "4Bit", "int4", "Int4", "INT4", "nf4", "NF4", "fp4", "FP4", "GPTQ", "AWQ", "gptq", "awq", "Quant"});
constexpr auto kOf8Bits =
    std::to_array<std::string_view>({"uantiz", "QLinear", "Integer", "QGemm", "8bit", "8Bit", "int8", "Int8", "INT8", "_int_mm", "W8A8"});

int code_bits_of(const OpInfo& op) {
  const auto holds = [&op](std::string_view part) { return op.type.find(part) != std::string::npos; };
  if (std::ranges::any_of(kOf8Bits, holds)) return 8;
  return std::ranges::any_of(kOf4Bits, holds) ? 4 : 0;
}

// "_softmax" and "softmax" of PyTorch are one family; "where" has a form with a scalar.
std::string family_of(const OpInfo& op) {
  std::string family = PairingKeys::family(op);
  for (const std::string_view overloaded : {std::string_view("stack"), std::string_view("where")}) {
    if (family.starts_with(overloaded)) return std::string(overloaded);
  }
  return family;
}

}  // namespace

OpKind op_kind_of(const OpInfo& op) {
  const std::string family = family_of(op);
  const int code_bits = code_bits_of(op);
  return {.moves = is_listed(kMovingKinds, family),
          .sums = is_listed(kSummingKinds, family),
          .reduces = reduction_of(family),
          .averages = family == "mean",
          .multiplies = family == "linear",
          .overlays = is_listed(kOverlays, family),
          .contracts = is_listed(kContracting, family),
          .is_exp = family == "exp",
          .is_softmax = is_listed(kSoftmaxes, family),
          .convolves = family == "conv",
          .is_norm = is_listed(kNorms, family),
          .is_of_batch = family == "batch norm" && trains(op),
          .is_gate = is_listed(kGates, family),
          .is_gradient = is_listed(kGradientKinds, family),
          // ggml stores keys and values so: into rows of a cache, or for an attention without one.
          .stores = family == "setrows" || op.type == "CPY",
          // ggml looks them up in a table on processors.
          .of_halves = op.type == "GELU" || op.type == "GELU_QUICK",
          .quantises = code_bits > 0,
          .defines = is_listed(kDefining, family) || family.starts_with("scaleddotproduct"),
          .code_bits = code_bits};
}

bool is_drawn(const OpInfo& op) { return is_listed(kDrawingTypes, op.type); }

const OpKind& OpKinds::of(OpId id, const OpInfo& op) {
  if (id >= known_.size()) known_.resize(id + 1);
  if (!known_[id]) known_[id] = op_kind_of(op);
  return *known_[id];
}

}  // namespace tensortap
