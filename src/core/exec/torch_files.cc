#include "exec/torch_files.h"

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr uint64_t kMostBytes = 65536;
constexpr std::string_view kAdapterPrefix = "tensortap_torch_";
constexpr std::string_view kLibraryName = "libtorch_cpu.so.";

// Reads decimal digits at the front of `text` and takes them away.
bool take_number(std::string_view& text, int& value) {
  constexpr size_t kMostDigits = 6;
  const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  int64_t number = 0;
  if (count == 0 || count > kMostDigits || !parse_integer(text.substr(0, count), number)) return false;
  value = static_cast<int>(number);
  text.remove_prefix(count);
  return true;
}

// version.py says: __version__ = '2.13.0+cpu'
std::optional<TorchRelease> in_version_module(std::string_view text) {
  constexpr std::string_view kName = "__version__";
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(kName)) continue;
    const size_t begin = line.find_first_of("'\"");
    if (begin == std::string_view::npos) continue;
    const size_t end = line.find(line[begin], begin + 1);
    if (end != std::string_view::npos) return parse_torch_release(line.substr(begin + 1, end - begin - 1));
  }
  return std::nullopt;
}

}  // namespace

std::optional<TorchRelease> parse_torch_release(std::string_view text) {
  TorchRelease release;
  std::string_view rest = trim(text);
  release.text = rest.substr(0, std::min(rest.find_first_of(" \t\r\n"), rest.size()));
  if (!take_number(rest, release.major) || !rest.starts_with('.')) return std::nullopt;
  rest.remove_prefix(1);
  if (!take_number(rest, release.minor)) return std::nullopt;
  return release;
}

bool is_torch_release(std::string_view text) {
  constexpr std::array<std::string_view, 4> kBuilds = {"cpu", "cu", "rocm", "xpu"};
  const std::string_view public_part = text.substr(0, text.find('+'));
  const auto numbers = split(public_part, '.');
  int number = 0;
  for (std::string_view part : numbers) {
    if (!take_number(part, number) || !part.empty()) return false;
  }
  if (numbers.size() != 3) return false;
  if (public_part.size() == text.size()) return true;
  const std::string_view build = text.substr(public_part.size() + 1);
  return std::ranges::any_of(kBuilds, [build](std::string_view name) {
    return build.starts_with(name) && build.find_first_not_of("0123456789.", name.size()) == std::string_view::npos;
  });
}

Result<TorchRelease> torch_release_beside(const std::string& library) {
  const std::string folder = parent_path(library);
  if (const auto text = read_file(join_path(folder, "../version.py"), kMostBytes); text.ok()) {
    if (auto release = in_version_module(*text)) return *std::move(release);
  }
  for (const char* beside : {"../build-version", "../../build-version"}) {
    const auto text = read_file(join_path(folder, beside), kMostBytes);
    if (!text.ok()) continue;
    if (auto release = parse_torch_release(*text)) return *std::move(release);
  }
  const std::string name = file_name(library);
  if (name.starts_with(kLibraryName)) {
    if (auto release = parse_torch_release(name.substr(kLibraryName.size()))) return *std::move(release);
  }
  return not_found(concat("cannot find out the release of torch ", library, ": there is no version.py or build-version beside it"));
}

std::string torch_adapter_file(int major, int minor, int string_abi) {
  return concat(kAdapterPrefix, major, ".", minor, "_", string_abi, ".so");
}

std::optional<TorchRelease> torch_release_of_adapter(std::string_view file) {
  if (!file.starts_with(kAdapterPrefix)) return std::nullopt;
  auto release = parse_torch_release(file.substr(kAdapterPrefix.size()));
  for (const int string_abi : {0, 1}) {
    if (release && torch_adapter_file(release->major, release->minor, string_abi) == file) return release;
  }
  return std::nullopt;
}

}  // namespace tensortap
