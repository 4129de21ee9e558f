#include "source/onnxruntime/model/symbol_sizes.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace tensortap::onnxruntime {
namespace {

constexpr int64_t kUsualSize = 16;

int64_t usual_size(size_t axis) { return axis == 0 ? 1 : kUsualSize; }

std::string place_of(const ValueInfo& info, size_t axis) { return concat(info.name, ".", axis); }

bool has_symbol(const Dimension& dim) { return dim.size < 0 && !dim.name.empty(); }

}  // namespace

SymbolSizes::SymbolSizes(const std::vector<ValueInfo>& inputs, const std::map<std::string, int64_t>& chosen) : chosen_(chosen) {
  for (const ValueInfo& info : inputs) {
    for (size_t axis = 0; axis < info.dims.size(); ++axis) {
      const Dimension& dim = info.dims[axis];
      if (!has_symbol(dim)) continue;
      usual_.try_emplace(std::string(dim.name), usual_size(axis));
      if (const auto by_name = chosen.find(std::string(dim.name)); by_name != chosen.end()) {
        set(dim.name, by_name->second, concat("dimension ", by_name->first));
      }
    }
  }
  // A size for one place is the size of its name, unless the name has its own.
  for (const ValueInfo& info : inputs) {
    for (size_t axis = 0; axis < info.dims.size(); ++axis) {
      const auto by_place = chosen.find(place_of(info, axis));
      if (by_place == chosen.end() || !has_symbol(info.dims[axis]) || chosen.contains(std::string(info.dims[axis].name))) continue;
      set(info.dims[axis].name, by_place->second, concat("dimension ", by_place->first));
    }
  }
}

void SymbolSizes::learn(const ValueInfo& info, const tensortap_tensor& given) {
  if (given.dims == nullptr || given.rank != info.dims.size()) return;
  for (size_t axis = 0; axis < info.dims.size(); ++axis) {
    if (has_symbol(info.dims[axis])) set(info.dims[axis].name, given.dims[axis], concat("input ", quote(info.name)));
  }
}

void SymbolSizes::set(std::string_view symbol, int64_t size, const std::string& origin) {
  Size& known = sizes_[std::string(symbol)];
  if (known.size < 0) {
    known = {size, origin, {}};
  } else if (known.size != size && known.contradiction.empty()) {
    known.contradiction = concat(known.size, " by ", known.origin, " and ", size, " by ", origin);
  }
}

Result<std::vector<int64_t>> SymbolSizes::dims_of(const ValueInfo& info) const {
  std::vector<int64_t> dims;
  for (size_t axis = 0; axis < info.dims.size(); ++axis) {
    const Dimension& dim = info.dims[axis];
    if (const auto by_place = chosen_.find(place_of(info, axis)); by_place != chosen_.end()) {
      dims.push_back(by_place->second);
      continue;
    }
    if (!has_symbol(dim)) {
      dims.push_back(dim.size >= 0 ? dim.size : usual_size(axis));
      continue;
    }
    const auto known = sizes_.find(dim.name);
    if (known != sizes_.end() && !known->second.contradiction.empty()) {
      return invalid_argument(concat("input ", quote(info.name), " cannot be made: its dimension ", quote(dim.name), " is ",
                                     known->second.contradiction, ". Give this input, or its size with --dim ", place_of(info, axis),
                                     "=SIZE."));
    }
    const auto usual = usual_.find(dim.name);
    dims.push_back(known != sizes_.end() ? known->second.size : usual != usual_.end() ? usual->second : usual_size(axis));
  }
  return dims;
}

}  // namespace tensortap::onnxruntime
