// `tensortap serve`: a dump, or two with their differences, in a browser.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/dump_access.h"
#include "cli/live_answers.h"
#include "cli/open_browser.h"
#include "cli/source_roots.h"
#include "cli/web_job.h"
#include "serve/http_server.h"

namespace tensortap::cli {
namespace {

struct ServeOptions {
  std::string a;
  std::string b;
  uint16_t port = 0;
  std::vector<std::string> source_roots;
  bool no_open = false;
};

// Keeps the signals that end a server for wait(), in this thread and those that it starts meanwhile.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~EndSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  void wait() const {
    int signal = 0;
    while (sigwait(&signals_, &signal) != 0) continue;
  }

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

void warn_of_problems(const Terminal& terminal, const WebAnswers& answers) {
  for (const auto& dump : answers.dumps()) warn_of_problems(terminal, dump->index(), dump->path());
}

// Answers until a signal ends it. `first` computes the page's first request, which takes longest: it starts before the browser does.
Result<ExitCode> answer_until_ended(const WebService& service, const std::function<void()>& first, const ServeOptions& options,
                                    const EndSignals& signals, Terminal& terminal) {
  auto listening = HttpServer::listen(service, options.port);
  if (!listening.ok()) return listening.status();
  HttpServer& server = **listening;
  std::thread thread([&server] { server.run(); });
  std::thread ahead(first);
  if (terminal.json) {
    terminal.json_line({{"address", server.address()}, {"port", server.port()}});
  } else {
    terminal.line(server.address());
  }
  terminal.flush();
  const BrowserPage page = options.no_open ? BrowserPage() : BrowserPage::open(server.address());
  terminal.note(page.is_open()
                    ? "the browser is asked to show it; Ctrl-C ends the server"
                    : fmt::format("open this address in a browser (from another machine through `ssh -L {0}:127.0.0.1:{0} HOST`); "
                                  "Ctrl-C ends the server",
                                  server.port()));
  signals.wait();
  server.stop();
  thread.join();
  ahead.join();
  return ExitCode::kFine;
}

Result<ExitCode> serve(const ServeOptions& options, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(const SourceFiles sources, source_files(options.source_roots));
  if (options.b.empty() && WebJob::is_job(options.a)) {
    const EndSignals signals;
    TENSORTAP_ASSIGN_OR_RETURN(const std::unique_ptr<WebJob> job, WebJob::open(options.a, sources));
    return answer_until_ended(
        job->service(), [] {}, options, signals, terminal);
  }
  TENSORTAP_ASSIGN_OR_RETURN(const std::unique_ptr<LiveAnswers> answers, LiveAnswers::open(options.a, options.b, sources));
  warn_of_problems(terminal, *answers->answers());
  const EndSignals signals;
  return answer_until_ended(
      answers->service(), [&answers] { static_cast<void>(answers->answers()->get("/api/dump?wait=no")); }, options, signals, terminal);
}

}  // namespace

Action declare_serve(CLI::App& app) {
  const auto options = std::make_shared<ServeOptions>();
  app.add_option("A", options->a, "Folder of the dump, or of a job with the dumps of its ranks")->type_name(kDump)->required();
  app.add_option("B", options->b, "Folder of a dump to compare it with: the reference")->type_name(kDump);
  app.add_option("--port", options->port, "Listen on this port (default: one that is free)")->type_name("N")->check(in_range(0, 65535));
  add_source_roots(app, options->source_roots);
  app.add_flag("--no-open", options->no_open, "Print the address, and leave the browser alone");
  return [options](Terminal& terminal) { return serve(*options, terminal); };
}

}  // namespace tensortap::cli
