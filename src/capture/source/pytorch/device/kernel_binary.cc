#include "source/pytorch/device/kernel_binary.h"

#include <algorithm>
#include <vector>

#include "base/code_file.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/fnv.h"
#include "base/text.h"
#include "source/pytorch/device/kernel_text.h"

namespace tensortap::pytorch {
namespace {

constexpr uint64_t kMostBytes = uint64_t{16} << 20;

// One program of the compiler, destroyed with this.
class Program {
 public:
  explicit Program(const DeviceCompiler& compiler) : compiler_(compiler) {
    const auto texts = kernel_texts();
    std::vector<const char*> included;
    std::vector<const char*> names;
    for (const KernelText& text : texts.subspan(1)) {
      included.push_back(text.text);
      names.push_back(text.name);
    }
    const auto count = static_cast<int>(names.size());
    if (compiler_.make(&program_, texts.front().text, "tensortap_statistics.cu", count, included.data(), names.data()) != 0)
      program_ = nullptr;
  }
  ~Program() {
    if (program_ != nullptr) compiler_.destroy(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] bool compile(const std::vector<std::string>& options) const {
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    return program_ != nullptr && compiler_.compile(program_, static_cast<int>(words.size()), words.data()) == 0;
  }
  // "" when there is none.
  [[nodiscard]] std::string result(bool is_text) const {
    size_t size = 0;
    const bool has_size = (is_text ? compiler_.text_size(program_, &size) : compiler_.binary_size(program_, &size)) == 0;
    if (!has_size || size == 0 || size > kMostBytes) return {};
    std::string bytes(size, '\0');
    const int code = is_text ? compiler_.text(program_, bytes.data()) : compiler_.binary(program_, bytes.data());
    return code == 0 ? bytes : std::string();
  }

 private:
  const DeviceCompiler& compiler_;
  void* program_ = nullptr;
};

std::vector<int> supported_by(const DeviceCompiler& compiler) {
  int count = 0;
  if (compiler.architecture_count(&count) != 0 || count <= 0 || count > 1000) return {};
  std::vector<int> numbers(static_cast<size_t>(count));
  if (compiler.architectures(numbers.data()) != 0) return {};
  return numbers;
}

// "" when the user has no folder for it.
std::string cache_path(const DeviceCompiler& compiler, std::string_view type, int architecture) {
  const auto cache = environment_value("XDG_CACHE_HOME");
  const auto home = environment_value("HOME");
  if (!(cache && cache->starts_with('/')) && !home) return {};
  const std::string folder =
      cache && cache->starts_with('/') ? join_path(*cache, "tensortap/kernels") : join_path(*home, ".cache/tensortap/kernels");
  int major = 0;
  int minor = 0;
  if (compiler.version(&major, &minor) != 0) return {};
  uint64_t hash = kFirstHash;
  for (const KernelText& text : kernel_texts()) hash = hash_more(hash, std::string_view(text.text));
  return join_path(folder, concat(type, "-sm_", architecture, "-nvrtc_", major, ".", minor, "-", hash, ".bin"));
}

Result<std::string> cached(const std::string& path) {
  // Of no other user.
  TENSORTAP_ASSIGN_OR_RETURN(const std::string trusted, trusted_code_file(path, ""));
  return read_file(trusted, kMostBytes);
}

}  // namespace

Result<std::string> compile_kernel(const DeviceCompiler& compiler, std::string_view type, int architecture) {
  const std::vector<int> supported = supported_by(compiler);
  const bool is_known = std::ranges::find(supported, architecture) != supported.end();
  const auto older = [architecture](int number) { return number < architecture; };
  int target = architecture;
  if (!is_known) {
    target = 0;
    for (const int number : supported) target = older(number) ? std::max(target, number) : target;
  }
  if (target == 0) return unsupported(concat("NVRTC compiles for no device like sm_", architecture));
  const Program program(compiler);
  const std::vector<std::string> options = {concat("--gpu-architecture=", is_known ? "sm_" : "compute_", target), "--std=c++17",
                                            "--fmad=false",  // error terms of sums would vanish
                                            concat("--define-macro=TENSORTAP_KERNEL_TYPE=", type)};
  if (!program.compile(options)) return unsupported(concat("NVRTC does not compile the statistics of ", type, " for sm_", architecture));
  std::string bytes = program.result(!is_known);
  if (bytes.empty()) return unsupported(concat("NVRTC returns nothing for sm_", architecture));
  return bytes;
}

Result<std::string> kernel_binary(const DeviceCompiler& compiler, std::string_view type, int architecture) {
  const std::string path = cache_path(compiler, type, architecture);
  if (!path.empty()) {
    if (auto kept = cached(path); kept.ok() && !kept->empty()) return kept;
  }
  TENSORTAP_ASSIGN_OR_RETURN(std::string made, compile_kernel(compiler, type, architecture));
  // Without a cache the next process compiles it again.
  if (!path.empty() && make_directories(parent_path(path)).ok()) static_cast<void>(write_file_atomically(path, made));
  return made;
}

}  // namespace tensortap::pytorch
