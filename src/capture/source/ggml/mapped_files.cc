#include "source/ggml/mapped_files.h"

#include <cinttypes>
#include <cstdint>
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

std::string file_mapped_at(const void* address) {
  const auto place = reinterpret_cast<uintptr_t>(address);
  const std::unique_ptr<FILE, Closes> maps(std::fopen("/proc/self/maps", "re"));
  if (maps == nullptr) return {};
  std::string line(kLongestLine, '\0');
  while (std::fgets(line.data(), static_cast<int>(line.size()), maps.get()) != nullptr) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2 || place < begin || place >= end) continue;
    const std::string_view text = line.c_str();
    const size_t path = text.find('/');
    return path == std::string_view::npos ? std::string() : std::string(text.substr(path, text.find('\n') - path));
  }
  return {};
}

}  // namespace tensortap::ggml
