#include "source/ggml/model_files.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "source/ggml/mapped_files.h"

namespace tensortap::ggml {
namespace {

constexpr uint64_t kCompared = 256;  // bytes of a weight, by which its file is recognised

// Whether the file has the weight at this place, with the bytes that are in memory.
bool holds(const GgufFile& file, const ReadWeight& weight, uint64_t offset) {
  const StoredTensor* stored = file.find(weight.name);
  if (stored == nullptr || stored->begin != offset) return false;
  std::array<std::byte, kCompared> stored_bytes{};
  const auto bytes = std::span(stored_bytes).first(std::min({kCompared, stored->room, weight.bytes}));
  return !bytes.empty() && file.read(*stored, bytes).ok() && std::memcmp(bytes.data(), weight.data, bytes.size()) == 0;
}

}  // namespace

void ModelFiles::add_files_of(const std::vector<ReadWeight>& weights) {
  const MappedFiles mapped = MappedFiles::of_process();
  for (const ReadWeight& weight : weights) {
    const MappedPlace place = mapped.at(weight.data);
    if (place.path.empty() || !known_.insert(place.path).second) continue;
    Result<GgufFile> file = GgufFile::open(place.path);
    if (file.ok() && holds(*file, weight, place.offset)) files_.push_back(*std::move(file));
  }
}

std::string_view ModelFiles::architecture() const {
  const auto told = std::ranges::find_if(files_, [](const GgufFile& file) { return !file.architecture().empty(); });
  return told == files_.end() ? std::string_view() : std::string_view(told->architecture());
}

bool ModelFiles::has(std::string_view name) const {
  return std::ranges::any_of(files_, [name](const GgufFile& file) { return file.find(name) != nullptr; });
}

bool ModelFiles::read(std::string_view name, int32_t type, const std::array<int64_t, kMostDimensions>& ne, uint64_t bytes,
                      std::vector<std::byte>& to) const {
  for (const GgufFile& file : files_) {
    const StoredTensor* stored = file.find(name);
    if (stored == nullptr || stored->type != type || stored->ne != ne || bytes > stored->room) continue;
    try {
      to.resize(bytes);
    } catch (const std::bad_alloc&) {
      return false;
    }
    if (file.read(*stored, to).ok()) return true;
  }
  return false;
}

}  // namespace tensortap::ggml
