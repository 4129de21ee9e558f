#include "cli/live/open_browser.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/environment.h"
#include "base/files.h"
#include "base/running_captures.h"

namespace tensortap::cli {
namespace {

// Starts a program without a terminal, in a new session: Ctrl-C ends us but not the browser.
bool start_apart(const char* name, const std::string& word) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&actions) != 0) return false;
  if (posix_spawnattr_init(&attributes) != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return false;
  }
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", standard == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
  }
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  std::string program = name;
  std::string argument = word;
  char* const words[] = {program.data(), argument.data(), nullptr};
  pid_t process = 0;
  const bool started = posix_spawnp(&process, name, &actions, &attributes, words, environ) == 0;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return started;
}

}  // namespace

BrowserPage BrowserPage::open(const std::string& address) {
  if (!environment_value("DISPLAY") && !environment_value("WAYLAND_DISPLAY")) return {};
  const auto folder = make_running_folder();
  if (!folder.ok()) return {};
  BrowserPage page(join_path(*folder, fmt::format("serve-{}.html", getpid())));
  const std::string content = fmt::format(
      "<!DOCTYPE html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\"><meta http-equiv=\"refresh\" "
      "content=\"0;url={0}\"><title>tensortap</title><a href=\"{0}\">tensortap</a>\n",
      address);
  if (!write_file_atomically(page.path_, content).ok() || !start_apart("xdg-open", page.path_)) return {};
  return page;
}

BrowserPage::~BrowserPage() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace tensortap::cli
