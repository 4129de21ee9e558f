#include "find/op_semantics.h"

#include <algorithm>
#include <string>

#include "find/record_roles.h"

namespace tensortap {
namespace {

constexpr std::string_view kBoundsOrChooses[] = {"adaptivemaxpool1d",
                                                 "adaptivemaxpool2d",
                                                 "adaptivemaxpool3d",
                                                 "amax",
                                                 "amin",
                                                 "aminmax",
                                                 "arctan",
                                                 "atan",
                                                 "atan2",
                                                 "clamp",
                                                 "clampmax",
                                                 "clampmin",
                                                 "clip",
                                                 "compress",
                                                 "constantpadnd",
                                                 "cummax",
                                                 "cummin",
                                                 "embedding",
                                                 "erf",
                                                 "erfc",
                                                 "fmax",
                                                 "fmin",
                                                 "gather",
                                                 "gatherelements",
                                                 "gathernd",
                                                 "globalmaxpool",
                                                 "hardsigmoid",
                                                 "hardtanh",
                                                 "index",
                                                 "indexcopy",
                                                 "indexfill",
                                                 "indexput",
                                                 "indexselect",
                                                 "kthvalue",
                                                 "maskedfill",
                                                 "maskedscatter",
                                                 "maskedselect",
                                                 "max",
                                                 "maximum",
                                                 "maxpool",
                                                 "maxpool1d",
                                                 "maxpool2d",
                                                 "maxpool2dwithindices",
                                                 "maxpool3d",
                                                 "maxpool3dwithindices",
                                                 "median",
                                                 "min",
                                                 "minimum",
                                                 "mode",
                                                 "msort",
                                                 "nantonum",
                                                 "reducemax",
                                                 "reducemin",
                                                 "relu6",
                                                 "scatter",
                                                 "scatterelements",
                                                 "scatternd",
                                                 "select",
                                                 "selectscatter",
                                                 "sgn",
                                                 "sigmoid",
                                                 "sign",
                                                 "slice",
                                                 "slicescatter",
                                                 "sort",
                                                 "take",
                                                 "takealongdim",
                                                 "tanh",
                                                 "threshold",
                                                 "thresholdbackward",
                                                 "topk",
                                                 "tril",
                                                 "trilu",
                                                 "triu",
                                                 "where"};
constexpr std::string_view kDivides[] = {"addcdiv", "div", "divide", "floordivide", "pow", "realdiv", "reciprocal", "rsqrt", "truedivide"};
constexpr std::string_view kPoles[] = {"arctanh", "atanh", "digamma", "erfinv",    "lgamma",       "log", "log10",   "log1p",
                                       "log2",    "logit", "ndtri",   "polygamma", "specialndtri", "tan", "xlog1py", "xlogy"};
constexpr std::string_view kCopies[] = {"aliascopy", "clone", "contiguous", "copy",          "detachcopy", "expandcopy", "permutecopy",
                                        "slicecopy", "tcopy", "tocopy",     "transposecopy", "unsafeview", "viewcopy"};
constexpr std::string_view kMoves[] = {
    "alias",       "asstrided",    "cat",          "chunk",          "concat",        "constantpadnd", "depthtospace",   "detach",
    "embedding",   "expand",       "expandas",     "flatten",        "flip",          "gather",        "gatherelements", "gathernd",
    "identity",    "index",        "indexselect",  "liftfresh",      "liftfreshcopy", "maskedselect",  "movedim",        "narrow",
    "pad",         "permute",      "pixelshuffle", "repeat",         "reshape",       "reshapealias",  "roll",           "select",
    "slice",       "spacetodepth", "split",        "splitwithsizes", "squeeze",       "stack",         "swapaxes",       "t",
    "tile",        "transpose",    "tril",         "trilu",          "triu",          "unbind",        "unflatten",      "unfold",
    "unsafesplit", "unsqueeze",    "view",         "where"};
constexpr std::string_view kConstants[] = {"arange", "constant", "constantofshape", "empty",       "emptystrided", "fill", "full",
                                           "ones",   "zero",     "zeros",           "zerosfunctor"};
constexpr std::string_view kSums[] = {"huberloss", "l1loss", "mean", "mseloss", "smoothl1loss", "std", "stdmean", "sum", "var", "varmean"};
constexpr std::string_view kWritesParts[] = {"fill",         "filldiagonal", "indexcopy",     "indexfill", "indexput",
                                             "indexputimpl", "maskedfill",   "maskedscatter", "put",       "resize",
                                             "resizeas",     "scatter",      "set",           "setdata"};

// "addcdiv" of "aten::_foreach_addcdiv_".
std::string word_of(std::string_view type) {
  if (const size_t mark = type.find_last_of(":."); mark != std::string_view::npos) type.remove_prefix(mark + 1);
  std::string word = plain_type(type);
  constexpr std::string_view kForeach = "foreach";
  return word.starts_with(kForeach) ? word.substr(kForeach.size()) : word;
}

template <size_t kCount>
bool holds(const std::string_view (&list)[kCount], std::string_view type) {
  return std::ranges::find(list, word_of(type)) != std::end(list);
}

}  // namespace

bool bounds_or_chooses(std::string_view type) { return holds(kBoundsOrChooses, type); }
bool may_divide(std::string_view type) { return holds(kDivides, type); }
bool has_poles(std::string_view type) { return holds(kPoles, type); }

bool reads_shape_only(std::string_view type) {
  const std::string word = word_of(type);
  return word.ends_with("like") || (word.starts_with("new") && word.size() > 3) || word == "shape" || word == "size";
}

bool only_moves(std::string_view type) { return only_copies(type) || holds(kMoves, type); }
bool makes_constants(std::string_view type) { return reads_shape_only(type) || holds(kConstants, type); }

// PyTorch's quantised modules pack memory as it was allocated when they are made, and again when they are given their weights.
bool only_copies(std::string_view type) { return holds(kCopies, type) || word_of(type).ends_with("prepack"); }
bool sums_up(std::string_view type) { return holds(kSums, type); }
bool writes_parts(std::string_view type) { return type.ends_with('_') && holds(kWritesParts, type); }

}  // namespace tensortap
