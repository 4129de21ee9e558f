#include "cli/launch/provide_adapter.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/launch/adapter_build.h"
#include "cli/launch/program_file.h"
#include "cli/launch/torch_installation.h"

namespace tensortap::cli {
namespace {

// The ways on from a missing adapter that need no compiler here.
std::string other_ways(const InstalledFiles& installed, const TorchInstallation& torch) {
  const auto sources = find_adapter_sources(installed);
  const auto cache = sources.ok() ? adapter_cache(*sources) : Result<std::string>(sources.status());
  const std::string name = torch_adapter_file(torch.release.major, torch.release.minor, torch.string_abi);
  return fmt::format(
      "What else works: update tensortap or install a torch that it has an adapter for; compile it on another machine with this tensortap "
      "and torch {0}.{1} (`tensortap build-adapter --out .`) and copy "
      "{2} into {3}; "
      "or, if the program does not use torch (ONNX Runtime needs no adapter), start it with `tensortap exec --no-torch`",
      torch.release.major, torch.release.minor, name, cache.ok() ? *cache : installed.adapters);
}

// Why none of those that came along is used; "" when none did.
std::string known_releases(const InstalledFiles& installed, const TorchInstallation& torch) {
  const std::string known = adapter_releases(installed);
  if (known.empty()) return {};
  const char* build = is_torch_release(torch.release.text) ? "" : ", an unofficial build that none of them fits";
  return fmt::format("tensortap {} has adapters for torch {}; this is {}{}; to compile one: ", TENSORTAP_VERSION, known, torch.release.text,
                     build);
}

Status compile_adapter(const InstalledFiles& installed, const TorchInstallation& torch, const Terminal& terminal) {
  const auto built = build_adapter(installed, torch, {}, terminal);
  if (!built.ok() && built.status().code() == StatusCode::kNotFound) {
    return invalid_argument(
        fmt::format("{}{}. {}", known_releases(installed, torch), built.status().message(), other_ways(installed, torch)));
  }
  if (!built.ok()) return invalid_argument(concat(built.status().message(), release_note(torch.release)));
  if (built->problem.empty()) return {};
  return invalid_argument(
      fmt::format("the adapter for torch {} fails its self-test: {}{}", torch.release.text, built->problem, release_note(torch.release)));
}

}  // namespace

Status provide_adapter(AdapterPolicy policy, const InstalledFiles& installed, const std::string& interpreter, Terminal& terminal) {
  if (policy == AdapterPolicy::kNone || !is_python(interpreter)) return {};
  const auto torch = torch_of_python(interpreter);
  if (!torch.ok()) {
    if (torch.status().code() != StatusCode::kNotFound) terminal.warn(printable(torch.status().message()));
    return {};
  }
  const auto adapter = adapter_for(*torch, installed);
  if (adapter.ok()) return {};
  if (adapter.status().code() != StatusCode::kNotFound) return invalid_argument(adapter.status().message());
  if (adopt_prebuilt_adapter(installed, *torch)) return {};
  const std::string missing = fmt::format("there is no adapter for torch {} of {}", torch->release.text, interpreter);
  if (policy == AdapterPolicy::kRefuse) return invalid_argument(fmt::format("{}. Build it once: `{}`", missing, build_command(*torch)));
  return compile_adapter(installed, *torch, terminal);
}

}  // namespace tensortap::cli
