#include "cli/launch/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "base/text.h"

extern char** environ;

namespace tensortap::cli {
namespace {

constexpr size_t kMostAnswer = size_t{1} << 20;
constexpr int kSignalBase = 128;
constexpr int kFirstLookMs = 100;
constexpr int kLastLookMs = 3000;

// What is passed on to the program. Ctrl-Z and the like stop both, as for every group of processes.
constexpr std::array kForwarded = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT,   SIGUSR1, SIGUSR2, SIGALRM,
                                   SIGCONT, SIGURG,  SIGWINCH, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR};

volatile pid_t forward_to = 0;

// What our caller gave us and we changed: two signals in prepare_process(), SIGBUS in report_cut_files().
struct Inherited {
  struct sigaction broken_pipe {};
  struct sigaction child_ended {};
  struct sigaction bus_error {};
};
Inherited inherited;

void give_back_inherited() {
  sigaction(SIGPIPE, &inherited.broken_pipe, nullptr);
  sigaction(SIGCHLD, &inherited.child_ended, nullptr);
  sigaction(SIGBUS, &inherited.bus_error, nullptr);
}

void forward(int signal, siginfo_t* info, void* /*context*/) {
  // What the kernel sends comes from the terminal, and the program also gets it from there.
  const bool from_terminal = info->si_code > 0;
  const int saved = errno;
  if (!from_terminal && forward_to > 0) kill(forward_to, signal);
  errno = saved;
}

// Forwards signals while it lives. One that was ignored stays ignored, here and in the program.
class Forwarding {
 public:
  Forwarding() {
    for (size_t i = 0; i < kForwarded.size(); ++i) {
      sigaction(kForwarded[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) continue;
      struct sigaction action {};
      action.sa_sigaction = forward;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      sigaction(kForwarded[i], &action, nullptr);
    }
  }
  ~Forwarding() {
    for (size_t i = 0; i < kForwarded.size(); ++i) sigaction(kForwarded[i], &before_[i], nullptr);
  }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;

  // Signals wait while there is no program yet that they could go to.
  void hold_back() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask_);
  }
  void let_through() { sigprocmask(SIG_SETMASK, &mask_, nullptr); }
  // In the new process: as it was before us.
  void end_in_program() {
    for (size_t i = 0; i < kForwarded.size(); ++i) sigaction(kForwarded[i], &before_[i], nullptr);
    let_through();
  }

 private:
  std::array<struct sigaction, kForwarded.size()> before_{};
  sigset_t mask_{};
};

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execv wants it so
  pointers.push_back(nullptr);
  return pointers;
}

// In the child. Does not come back; an error goes into `report`.
[[noreturn]] void become(const std::string& path, char* const* words, int report) {
  give_back_inherited();
  execv(path.c_str(), words);
  if (errno == ENOEXEC) {
    // A script without a first line: shells run it as a shell script.
    std::vector<char*> shell = {const_cast<char*>("sh"), const_cast<char*>(path.c_str())};  // NOLINT: execv wants it so
    for (char* const* word = words + 1; *word != nullptr; ++word) shell.push_back(*word);
    shell.push_back(nullptr);
    execv("/bin/sh", shell.data());
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
  _exit(127);
}

// In the child, which has one thread.
void set_variables(const Variables& environment) {
  for (const auto& [name, value] : environment) {
    if (value) {
      setenv(name.c_str(), value->c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    } else {
      unsetenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    }
  }
}

ProgramEnd end_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return {kSignalBase + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

// Until the child has ended; it stays there for waitpid().
void look_meanwhile(pid_t child, const std::function<bool()>& look) {
  if (!look) return;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (handle < 0) return;
  pollfd ended{handle, POLLIN, 0};
  for (int wait = kFirstLookMs;; wait = std::min(2 * wait, kLastLookMs)) {
    const int found = poll(&ended, 1, wait);
    if (found > 0 || (found < 0 && errno != EINTR) || look()) break;
  }
  close(handle);
}

// Both ends of a pipe, closed at the end.
class Pipe {
 public:
  Pipe() { open_ = pipe2(ends_, O_CLOEXEC) == 0; }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] int reading() const { return ends_[0]; }
  [[nodiscard]] int writing() const { return ends_[1]; }
  void close_end(int which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
  bool open_ = false;
};

// Reads until every writer has gone; drops all bytes beyond the limit.
void read_both(int out, int errors, ProgramAnswer& answer) {
  std::array<pollfd, 2> files = {pollfd{out, POLLIN, 0}, pollfd{errors, POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&answer.out, &answer.errors};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    if (poll(files.data(), files.size(), -1) < 0 && errno != EINTR) return;
    for (size_t i = 0; i < files.size(); ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      std::array<char, 4096> buffer;
      const ssize_t size = read(files[i].fd, buffer.data(), buffer.size());
      if (size <= 0) {
        files[i].fd = -1;
      } else if (texts[i]->size() < kMostAnswer) {
        texts[i]->append(buffer.data(), static_cast<size_t>(size));
      }
    }
  }
}

}  // namespace

void prepare_process() {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, &inherited.broken_pipe);
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, &inherited.child_ended);
  sigaction(SIGBUS, nullptr, &inherited.bus_error);
  for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard) {
    // The lowest free number is taken, which is this one.
    if (fcntl(standard, F_GETFD) < 0) [[maybe_unused]]
      const int taken = open("/dev/null", O_RDWR | O_CLOEXEC);
  }
}

Result<ProgramEnd> run_program(const std::string& path, const std::vector<std::string>& words, const Variables& environment,
                               const std::function<bool()>& look) {
  const std::vector<char*> pointers = pointers_to(words);
  Pipe report;
  if (!report.is_open()) return errno_status("pipe", errno);
  Forwarding forwarding;
  forwarding.hold_back();
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    forwarding.let_through();
    return errno_status("fork", error);
  }
  if (child == 0) {
    set_variables(environment);
    forwarding.end_in_program();
    become(path, pointers.data(), report.writing());
  }
  forward_to = child;
  forwarding.let_through();
  report.close_end(1);
  int error = 0;
  ssize_t size = 0;
  while ((size = read(report.reading(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (size != static_cast<ssize_t>(sizeof error)) look_meanwhile(child, look);
  const ProgramEnd end = end_of(child);
  forward_to = 0;
  if (size != static_cast<ssize_t>(sizeof error)) return end;
  return invalid_argument(concat(quote(path), " cannot be started: ", std::strerror(error)));
}

Result<std::optional<ProgramEnd>> continue_in_child() {
  Forwarding forwarding;
  forwarding.hold_back();
  const pid_t child = fork();
  if (child <= 0) {
    const int error = errno;
    forwarding.end_in_program();
    if (child < 0) return errno_status("fork", error);
    return std::optional<ProgramEnd>();
  }
  forward_to = child;
  forwarding.let_through();
  const ProgramEnd end = end_of(child);
  forward_to = 0;
  return std::optional(end);
}

Result<ProgramAnswer> ask_program(const std::vector<std::string>& words) {
  Pipe out;
  Pipe errors;
  if (!out.is_open() || !errors.is_open()) return errno_status("pipe", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.writing(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.writing(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  if (inherited.broken_pipe.sa_handler != SIG_IGN) sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const std::vector<char*> pointers = pointers_to(words);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, words.front().c_str(), &actions, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  out.close_end(1);
  errors.close_end(1);
  if (failed != 0) return errno_status(words.front(), failed);
  ProgramAnswer answer;
  read_both(out.reading(), errors.reading(), answer);
  answer.exit_code = end_of(child).exit_code;
  return answer;
}

Result<std::string> in_own_process(const std::function<std::string()>& work) {
  Pipe channel;
  if (!channel.is_open()) return errno_status("pipe", errno);
  const pid_t child = fork();
  if (child < 0) return errno_status("fork", errno);
  if (child == 0) {
    const std::string text = work();
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t size = write(channel.writing(), text.data() + sent, text.size() - sent);
      if (size <= 0) break;
      sent += static_cast<size_t>(size);
    }
    _exit(0);
  }
  channel.close_end(1);
  ProgramAnswer answer;
  read_both(channel.reading(), -1, answer);
  const ProgramEnd end = end_of(child);
  if (end.signal != 0) return internal_error(concat("it crashed with signal ", end.signal, " (", strsignal(end.signal), ")"));
  return answer.out;
}

}  // namespace tensortap::cli
