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
#include "cli/command/command.h"
#include "cli/files/dump_access.h"
#include "cli/files/source_roots.h"
#include "cli/live/live_answers.h"
#include "cli/live/open_browser.h"
#include "cli/live/web_job.h"
#include "cli/text/arguments.h"
#include "serve/access_rules.h"
#include "serve/http_server.h"

namespace tensortap::cli {
namespace {

constexpr std::string_view kUnix = "unix:";

struct ServeOptions {
  std::string a;
  std::string b;
  uint16_t port = 0;
  std::string listen;
  std::vector<std::string> hosts;
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
  const std::string socket = options.listen.empty() ? std::string() : options.listen.substr(kUnix.size());
  auto listening = HttpServer::listen(service, {options.port, socket, options.hosts});
  if (!listening.ok()) return listening.status();
  HttpServer& server = **listening;
  std::thread thread([&server] { server.run(); });
  std::thread ahead(first);
  if (terminal.json) {
    Json json = {{"address", server.address()}, {"port", server.port()}};
    if (!socket.empty()) json["socket"] = socket;
    terminal.json_line(json);
  } else {
    terminal.line(server.address());
  }
  terminal.flush();
  // A browser cannot open a socket in the file system.
  const BrowserPage page = options.no_open || !socket.empty() ? BrowserPage() : BrowserPage::open(server.address());
  const std::string there = socket.empty() ? fmt::format("127.0.0.1:{}", server.port()) : socket;
  terminal.note(page.is_open() ? "the browser is asked to show it; Ctrl-C ends the server"
                               : fmt::format("open this address in a browser ({} `ssh -L {}:{} HOST`); Ctrl-C ends the server",
                                             socket.empty() ? "from another machine through" : "after", server.port(), there));
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
  app.add_option("--listen", options->listen,
                 "Listen on a socket in the file system that only you may use, instead of a port; for `ssh -L` and containers")
      ->type_name("unix:PATH")
      ->check([](const std::string& text) {
        return text.starts_with(kUnix) && text.size() > kUnix.size() ? std::string()
                                                                     : std::string("not unix:PATH, such as unix:page.socket");
      });
  app.add_option("--allow-host", options->hosts,
                 "Also answer when the page is asked for under this name: that of a proxy or a forwarded port. Repeatable")
      ->type_name("NAME")
      ->check([](const std::string& text) {
        return AccessRules::is_host_name(text) ? std::string() : std::string("not a host name, such as devbox or devbox:8443");
      });
  add_source_roots(app, options->source_roots);
  app.add_flag("--no-open", options->no_open, "Print the address, and leave the browser alone");
  return [options](Terminal& terminal) { return serve(*options, terminal); };
}

}  // namespace tensortap::cli
