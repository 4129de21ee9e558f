#include "cli/launch/adapter_build.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <tensortap/pytorch.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "base/code_file.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/launch/child_process.h"
#include "cli/launch/program_file.h"
#include "cli/text/member_text.h"

namespace tensortap::cli {
namespace {

constexpr size_t kErrorLines = 12;

// The words of the compiler's command: $CXX may hold options.
Result<std::vector<std::string>> compiler() {
  std::vector<std::string> words;
  const std::string chosen = environment_value("CXX").value_or("");
  for (const std::string_view word : split(chosen, ' ')) {
    if (const std::string_view text = trim(word); !text.empty()) words.emplace_back(text);
  }
  if (!words.empty()) {
    if (const auto found = find_program(words.front()); !found.ok()) {
      return not_found(concat("the C++ compiler that CXX names cannot be used: ", found.status().message()));
    }
    return words;
  }
  for (const char* name : {"g++", "c++", "clang++"}) {
    if (find_program(name).ok()) return std::vector<std::string>{name};
  }
  return not_found(
      "an adapter is compiled once for each torch release, and there is no C++ compiler on PATH: install g++ (10 or later), or set CXX");
}

std::vector<std::string> compile_command(const std::vector<std::string>& compiler_words, const InstalledFiles& installed,
                                         const AdapterSources& sources, const TorchInstallation& torch) {
  std::vector<std::string> words = compiler_words;
  for (const char* option :
       {"-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-w",
        "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now,-z,noexecstack"}) {
    words.emplace_back(option);
  }
  words.push_back(concat("-D_GLIBCXX_USE_CXX11_ABI=", torch.string_abi));
  words.push_back(concat("-I", installed.adapter_sources));
  words.push_back(concat("-isystem", torch.includes));
  words.push_back(concat("-isystem", join_path(torch.includes, "torch/csrc/api/include")));
  // All sources as one: torch's headers take most of the time.
  for (const std::string& file : sources.files) words.insert(words.end(), {"-include", file});
  words.insert(words.end(), {"-x", "c++", "/dev/null", "-x", "none"});
  // Bound to torch by the names of its libraries: they are in the process already, wherever they came from.
  if (torch.library.empty()) {
    words.emplace_back("-Wl,--auxiliary=libtorch_cpu.so,--auxiliary=libc10.so");
  } else {
    const std::string folder = parent_path(torch.library);
    words.push_back(concat("-L", folder));
    words.push_back(concat("-l:", file_name(torch.library)));
    words.emplace_back("-l:libc10.so");
  }
  words.push_back(concat("-Wl,--version-script=", join_path(installed.adapter_sources, "source/pytorch/adapter/exports.map")));
  words.emplace_back("-Wl,--unresolved-symbols=ignore-all,--exclude-libs,ALL");
  return words;
}

// The lines with errors, or the last lines if none has one.
std::string first_errors(const std::string& text) {
  std::vector<std::string> errors;
  std::vector<std::string> last;
  for (const std::string_view line : split(trim(text), '\n')) {
    if (contains_ignoring_case(line, "error") && errors.size() < kErrorLines) errors.emplace_back(line);
    last.emplace_back(line);
    if (last.size() > kErrorLines) last.erase(last.begin());
  }
  return join(errors.empty() ? last : errors, "\n  ");
}

// Loads torch and the adapter into this process and has the adapter try itself.
std::string try_natively(const TorchInstallation& torch, const InstalledFiles& installed, const std::string& adapter) {
  const auto failed = [](const char* what, const char* key = "problem") {
    const char* reason = dlerror();
    return to_json_text(Json{{key, concat(what, ": ", reason != nullptr ? reason : "unknown")}});
  };
  // The CUDA wheels need libraries of other packages, which only their Python brings along.
  if (dlopen(torch.library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) return failed("its torch cannot be loaded here", "untried");
  void* library = dlopen(installed.pytorch_library.c_str(), RTLD_NOW);
  if (library == nullptr) return failed("the library for PyTorch cannot be loaded");
  const auto self_test = reinterpret_cast<decltype(&tensortap_pytorch_self_test)>(dlsym(library, "tensortap_pytorch_self_test"));  // NOLINT
  if (self_test == nullptr) return failed("there is no self-test");
  char* text = self_test(torch.library.c_str(), adapter.c_str());
  return text == nullptr ? to_json_text(Json{{"problem", "the self-test gave no answer"}}) : std::string(text);
}

constexpr const char* kSelfTestProgram =
    "import ctypes, sys\n"
    "import torch\n"
    "library = ctypes.CDLL(sys.argv[1])\n"
    "library.tensortap_pytorch_self_test.restype = ctypes.c_char_p\n"
    "answer = library.tensortap_pytorch_self_test(sys.argv[2].encode(), sys.argv[3].encode())\n"
    "print('\\nSELFTEST ' + (answer or b'{}').decode(), flush=True)\n"
    "import os\n"
    "os._exit(0)\n";

Result<std::string> try_in_python(const TorchInstallation& torch, const InstalledFiles& installed, const std::string& adapter) {
  TENSORTAP_ASSIGN_OR_RETURN(const ProgramAnswer answer,
                             ask_program({torch.python, "-c", kSelfTestProgram, installed.pytorch_library, torch.library, adapter}));
  constexpr std::string_view kMark = "SELFTEST ";
  for (const std::string_view line : split(answer.out, '\n')) {
    if (line.starts_with(kMark)) return std::string(line.substr(kMark.size()));
  }
  return internal_error(concat("it ended with code ", answer.exit_code, ": ", first_errors(answer.errors)));
}

// Sets what came of the self-test.
void try_adapter(const TorchInstallation& torch, const InstalledFiles& installed, const std::string& adapter, BuiltAdapter& built) {
  if (torch.library.empty()) {
    built.untried = "there are headers alone";
    return;
  }
  const Result<std::string> text = torch.python.empty() ? in_own_process([&] { return try_natively(torch, installed, adapter); })
                                                        : try_in_python(torch, installed, adapter);
  const Result<Json> answer = text.ok() ? parse_json(*text, "the self-test") : Result<Json>(text.status());
  if (!answer.ok()) {
    built.problem = answer.status().message();
  } else if (member(*answer, "untried") != nullptr) {
    built.untried = member_text(*answer, "untried");
  } else if (!answer->is_object() || !answer->contains("problem")) {
    built.problem = concat("the self-test gave no answer: ", *text);
  } else {
    built.problem = member_text(*answer, "problem");
  }
}

// What we and the compiler make is not for others to write, whatever the umask allows: it would not be loaded.
class OnlyWeWrite {
 public:
  OnlyWeWrite() : before_(umask(S_IWGRP | S_IWOTH)) { umask(before_ | S_IWGRP | S_IWOTH); }
  ~OnlyWeWrite() { umask(before_); }
  OnlyWeWrite(const OnlyWeWrite&) = delete;
  OnlyWeWrite& operator=(const OnlyWeWrite&) = delete;

 private:
  mode_t before_;
};

// A folder beside the place where the adapter goes, for the time before it is known to work; removed with what is left in it.
class Workshop {
 public:
  explicit Workshop(const std::string& place) : path_(join_path(place, "building-XXXXXX")) {
    if (mkdtemp(path_.data()) == nullptr) status_ = errno_status(place, errno);
  }
  ~Workshop() {
    std::error_code ignored;
    if (status_.ok()) std::filesystem::remove_all(path_, ignored);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  Status status_;
};

Status compile(std::vector<std::string> words, const std::string& into, const TorchInstallation& torch) {
  words.emplace_back("-o");
  words.push_back(into);
  TENSORTAP_ASSIGN_OR_RETURN(const ProgramAnswer answer, ask_program(words));
  if (answer.exit_code == 0) return {};
  return unsupported(fmt::format("the adapter for torch {} does not compile with {} (exit code {}):\n  {}", torch.release.text,
                                 words.front(), answer.exit_code, first_errors(answer.errors)));
}

Status adopt(const InstalledFiles& installed, const TorchInstallation& torch, const std::string& prebuilt) {
  TENSORTAP_ASSIGN_OR_RETURN(const AdapterSources sources, find_adapter_sources(installed));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string place, adapter_cache(sources));
  const OnlyWeWrite only_we_write;
  TENSORTAP_RETURN_IF_ERROR(make_directories(place, Access::kShared));
  const Workshop workshop(place);
  TENSORTAP_RETURN_IF_ERROR(workshop.status());
  const std::string copy = join_path(workshop.path(), file_name(prebuilt));
  std::error_code error;
  if (!std::filesystem::copy_file(prebuilt, copy, error)) return io_error(concat(copy, ": ", error.message()));
  BuiltAdapter built;
  try_adapter(torch, installed, copy, built);
  if (!built.problem.empty()) return unsupported(built.problem);
  if (!built.untried.empty()) return unsupported(built.untried);
  const std::string kept = join_path(place, file_name(prebuilt));
  if (rename(copy.c_str(), kept.c_str()) != 0) return errno_status(kept, errno);
  return {};
}

}  // namespace

bool adopt_prebuilt_adapter(const InstalledFiles& installed, const TorchInstallation& torch) {
  const std::string name = torch_adapter_file(torch.release.major, torch.release.minor, torch.string_abi);
  const std::string prebuilt = join_path(installed.adapters, name);
  return path_exists(prebuilt) && trusted_code_file(prebuilt, installed.libraries).ok() && adopt(installed, torch, prebuilt).ok();
}

Result<BuiltAdapter> build_adapter(const InstalledFiles& installed, const TorchInstallation& torch, const std::string& folder,
                                   const Terminal& terminal) {
  if (torch.includes.empty()) return not_found(concat("the torch in ", torch.folder, " has no headers (include/ATen)"));
  TENSORTAP_ASSIGN_OR_RETURN(const AdapterSources sources, find_adapter_sources(installed));
  TENSORTAP_ASSIGN_OR_RETURN(const auto compiler_words, compiler());
  std::string place = folder;
  if (place.empty()) {
    TENSORTAP_ASSIGN_OR_RETURN(place, adapter_cache(sources));
  }
  const OnlyWeWrite only_we_write;
  TENSORTAP_RETURN_IF_ERROR(make_directories(place, Access::kShared));
  if (const auto trusted = trusted_code_folder(place, installed.libraries); !trusted.ok()) {
    return invalid_argument(concat("an adapter in ", place, " would not be used: ", trusted.status().message()));
  }
  const Workshop workshop(place);
  TENSORTAP_RETURN_IF_ERROR(workshop.status());
  const std::string name = torch_adapter_file(torch.release.major, torch.release.minor, torch.string_abi);
  const std::string unfinished = join_path(workshop.path(), name);
  BuiltAdapter built;
  built.path = join_path(place, name);
  terminal.note(fmt::format("compiling the adapter for torch {} with {}, once; this takes half a minute or so", torch.release.text,
                            compiler_words.front()));
  const int64_t begun = monotonic_ns();
  TENSORTAP_RETURN_IF_ERROR(compile(compile_command(compiler_words, installed, sources, torch), unfinished, torch));
  built.seconds = static_cast<double>(monotonic_ns() - begun) / 1e9;
  try_adapter(torch, installed, unfinished, built);
  if (!built.problem.empty()) return built;
  if (rename(unfinished.c_str(), built.path.c_str()) != 0) return errno_status(built.path, errno);
  return built;
}

}  // namespace tensortap::cli
