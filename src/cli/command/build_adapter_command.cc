// `tensortap build-adapter`: makes tensortap fit the torch of an environment.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/json.h"
#include "cli/command/command.h"
#include "cli/launch/adapter_build.h"
#include "cli/launch/program_file.h"
#include "cli/text/arguments.h"

namespace tensortap::cli {
namespace {

struct BuildAdapterOptions {
  std::string python;
  std::string libtorch;
  std::string out;
  std::string headers;
  std::string release;
  int string_abi = 1;
};

Result<TorchInstallation> chosen_torch(const BuildAdapterOptions& options) {
  if (!options.headers.empty()) return torch_headers(options.headers, options.release, options.string_abi);
  if (!options.libtorch.empty()) return torch_in(options.libtorch);
  return torch_of_python(options.python.empty() ? "python3" : options.python);
}

Result<ExitCode> build(const BuildAdapterOptions& options, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(const InstalledFiles installed, find_installed_files());
  TENSORTAP_ASSIGN_OR_RETURN(const TorchInstallation torch, chosen_torch(options));
  TENSORTAP_ASSIGN_OR_RETURN(const BuiltAdapter built, build_adapter(installed, torch, options.out, terminal));
  const bool works = built.problem.empty();
  if (terminal.json) {
    terminal.json_line({{"torch", torch.release.text},
                        {"string_abi", torch.string_abi},
                        {"libtorch", torch.library.empty() ? Json() : Json(torch.library)},
                        {"adapter", works ? Json(built.path) : Json()},
                        {"seconds", json_number(built.seconds)},
                        {"problem", works ? Json() : Json(built.problem)},
                        {"untried", built.untried.empty() ? Json() : Json(built.untried)}});
  } else if (works) {
    terminal.line(fmt::format("{}: built in {:.0f} s for torch {}, {}", built.path, built.seconds, torch.release.text,
                              built.untried.empty() ? "self-test passed" : "not tried out: " + built.untried));
  }
  if (!works)
    terminal.error(fmt::format("the adapter for torch {} fails its self-test and is not used: {}", torch.release.text, built.problem));
  return works ? ExitCode::kFine : ExitCode::kFailed;
}

}  // namespace

Action declare_build_adapter(CLI::App& app) {
  const auto options = std::make_shared<BuildAdapterOptions>();
  CLI::Option* python = app.add_option("--python", options->python, "Use the torch of this Python interpreter (python3)")->type_name(kPath);
  app.add_option("--libtorch", options->libtorch, "The folder of a torch: the package `torch` of a Python, or the C++ distribution")
      ->type_name(kDirectory)
      ->excludes(python);
  CLI::Option* headers =
      app.add_option("--headers", options->headers, "The include folder of a torch that is not installed here, with --release")
          ->type_name(kDirectory)
          ->excludes(python)
          ->excludes("--libtorch");
  CLI::Option* release =
      app.add_option("--release", options->release, "The release of the --headers, such as 2.8.0")->type_name("RELEASE")->needs(headers);
  headers->needs(release);
  app.add_option("--string-abi", options->string_abi,
                 "1 = std::__cxx11::string, as in the packages of torch 2.7 and later; 0 = the older one")
      ->type_name("0|1")
      ->check(CLI::IsMember({0, 1}).description(""))
      ->needs(headers);
  app.add_option("--out", options->out, "Store the adapter here instead of in the user's cache")->type_name(kDirectory);
  return [options](Terminal& terminal) { return build(*options, terminal); };
}

}  // namespace tensortap::cli
