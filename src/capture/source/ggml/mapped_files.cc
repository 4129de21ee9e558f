#include "source/ggml/mapped_files.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string_view>

namespace tensortap::ggml {
namespace {

struct Closes {
  void operator()(FILE* file) const { std::fclose(file); }
};

constexpr size_t kLongestLine = 8192;

}  // namespace

MappedFiles MappedFiles::of_process() {
  MappedFiles files;
  const std::unique_ptr<FILE, Closes> maps(std::fopen("/proc/self/maps", "re"));
  if (maps == nullptr) return files;
  std::string line(kLongestLine, '\0');
  while (std::fgets(line.data(), static_cast<int>(line.size()), maps.get()) != nullptr) {
    Range range{};
    const int found = std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNx64, &range.begin, &range.end, &range.offset);
    const std::string_view text = line.c_str();
    const size_t path = text.find('/');
    if (found != 3 || path == std::string_view::npos) continue;
    range.path = text.substr(path, text.find('\n') - path);
    files.ranges_.push_back(std::move(range));
  }
  return files;
}

MappedPlace MappedFiles::at(const void* address) const {
  const auto place = reinterpret_cast<uintptr_t>(address);
  const auto behind = std::ranges::upper_bound(ranges_, place, {}, &Range::begin);
  if (behind == ranges_.begin()) return {};
  const Range& range = *std::prev(behind);
  return place < range.end ? MappedPlace{range.path, range.offset + (place - range.begin)} : MappedPlace{};
}

}  // namespace tensortap::ggml
