// What a capture survives: kill -9, a full disk, a folder that vanishes, fork, two processes with one folder.

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "crash_pattern.h"
#include "forked_child.h"
#include "read/repair_dump.h"
#include "toy_engine.h"
#include "trace/waiting_values.h"

namespace {

using nlohmann::json;
using toy::add_op;
using toy::open_session;
using toy::run_op;

// Runs `body` in a forked child and gives its exit status.
template <class Body>
int in_child(Body&& body) {
  const int status = forked::end_of(body);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Starts crash_writer_program, waits until it captures, kills it after `microseconds`.
void write_and_kill(const std::string& out, int microseconds) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const std::string program = std::string(TENSORTAP_BUILD) + "/tests/crash_writer_program";
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDOUT_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    execl(program.c_str(), program.c_str(), out.c_str(), nullptr);
    _exit(127);
  }
  close(pipe_ends[1]);
  char started = 0;
  EXPECT_EQ(read(pipe_ends[0], &started, 1), 1) << program << " did not start";
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  close(pipe_ends[0]);
}

// Every record must occur once and have the values that its step and op imply, unless it is marked as one whose values were on their way.
void expect_pattern(const tensortap::DumpIndex& dump, uint64_t& on_the_way) {
  std::set<std::pair<int64_t, uint32_t>> seen;
  on_the_way = 0;
  for (size_t i = 0; i < dump.rows().size(); ++i) {
    const tensortap::RecordRow& row = dump.rows()[i];
    ASSERT_LT(row.op, crash_pattern::kOps);
    ASSERT_TRUE(seen.emplace(row.step, row.op).second) << "twice: step " << row.step << " op " << row.op;
    const std::vector<float> expected = crash_pattern::values(row.step, row.op);
    ASSERT_EQ(row.numel, expected.size());
    EXPECT_EQ(row.stats.min, *std::ranges::min_element(expected));
    EXPECT_EQ(row.stats.max, *std::ranges::max_element(expected));
    const double mean = std::accumulate(expected.begin(), expected.end(), 0.0) / static_cast<double>(expected.size());
    EXPECT_NEAR(row.stats.mean, mean, 1e-6 * std::abs(mean));  // docs/statistics.md states the bound of sums
    ASSERT_EQ(row.committed, 1);
    EXPECT_EQ(tensortap::op_of(dump, row).name, "op" + std::to_string(row.op));
    if (waits_for_values(row)) {
      ++on_the_way;
    } else {
      ASSERT_EQ(toy::floats_of(dump, i), expected) << "step " << row.step << " op " << row.op;
    }
  }
}

// Of crash_writer_program's steps.
void expect_no_gap(const tensortap::DumpIndex& dump) {
  uint64_t newest = 0;
  for (const tensortap::RecordRow& row : dump.rows())
    newest = std::max(newest, static_cast<uint64_t>(row.step) * crash_pattern::kOps + row.op + 1);
  EXPECT_EQ(dump.rows().size(), newest);
}

TEST(KilledCapture, ReadsBackEveryCompleteRecordAndNothingElse) {
  std::mt19937 random(20261121);  // NOLINT(cert-msc51-cpp): the same moments every time
  size_t records = 0;
  for (int round = 0; round < 50; ++round) {
    const toy::TempFolder folder;
    const std::string out = folder / "dump";
    ASSERT_NO_FATAL_FAILURE(write_and_kill(out, static_cast<int>(random() % 40000)));
    size_t before = 0;
    uint64_t on_the_way = 0;
    {
      const auto dump = toy::read_dump(out);
      ASSERT_NE(dump, nullptr);
      ASSERT_NO_FATAL_FAILURE(expect_pattern(*dump, on_the_way));
      before = dump->rows().size();
    }
    const auto repaired = tensortap::repair_dump(out, false);
    ASSERT_TRUE(repaired.ok()) << repaired.status().message();
    EXPECT_EQ(repaired->tensors_on_the_way, on_the_way);
    const auto dump = toy::read_dump(out);
    ASSERT_NE(dump, nullptr);
    ASSERT_NO_FATAL_FAILURE(expect_pattern(*dump, on_the_way));
    ASSERT_NO_FATAL_FAILURE(expect_no_gap(*dump));
    EXPECT_EQ(dump->rows().size(), before);
    records += dump->rows().size();
    const auto again = tensortap::repair_dump(out, true);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(again->healthy) << testing::PrintToString(again->actions);
  }
  EXPECT_GT(records, 500U) << "the captures were killed before they began";
}

TEST(ForkedCapture, LeavesTheParentAloneWhenIdleAndWhenWriting) {
  const toy::TempFolder folder;
  const std::string out = folder / "dump";
  const toy::Opened opened = open_session({{"payload", "full"}, {"limits", {{"pool_bytes", 1 << 20}}}}, out);
  ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
  tensortap_session* session = opened.session;
  const tensortap_op_id op = add_op(session, "op0");
  int64_t step = 0;
  for (int round = 0; round < 50; ++round) {
    // Rounds before the first event have no writer thread yet; later ones fork while it writes.
    for (int i = 0; round > 2 && i < 20; ++i, ++step) run_op(session, op, step, crash_pattern::values(step, 0));
    const int status = in_child([session, op] {
      run_op(session, op, 1'000'000, {1});
      tensortap_session_enable(session, 1);
      run_op(session, op, 1'000'001, {1});
      if (add_op(session, "child") != TENSORTAP_NO_OP || tensortap_wants(session, op, 0) != 0) return 1;
      if (tensortap_step_begin(session, 0, 0) != 0 || tensortap_session_flush(session) != TENSORTAP_OK) return 2;
      if (!toy::report_of(session).contains("disabled")) return 3;
      return tensortap_session_close(session);
    });
    ASSERT_EQ(status, 0) << "round " << round;
  }
  ASSERT_EQ(in_child([] { return 0; }), 0) << "a child that runs nothing";
  ASSERT_EQ(tensortap_session_close(session), TENSORTAP_OK);
  const auto dump = toy::read_dump(out);
  ASSERT_EQ(dump->rows().size(), static_cast<size_t>(step));
  uint64_t on_the_way = 0;
  ASSERT_NO_FATAL_FAILURE(expect_pattern(*dump, on_the_way));
  EXPECT_EQ(on_the_way, 0U);
  const json manifest = json::parse(dump->manifest());
  EXPECT_EQ(manifest["lost"], 0);
  const json unseen = manifest["ops"]["not_captured"];
  ASSERT_EQ(unseen.size(), 1U) << unseen;
  const std::string processes = unseen[0]["examples"][0];
  int counted = 0;
  ASSERT_EQ(std::sscanf(processes.c_str(), "fork (%d processes)", &counted), 1) << processes;
  EXPECT_GE(counted, 50);
  EXPECT_LE(counted, 50 + forked::stuck_children);
}

TEST(OutputFolder, GoesToExactlyOneOfManyProcesses) {
  const toy::TempFolder folder;
  for (int round = 0; round < 5; ++round) {
    const std::string out = folder / ("dump" + std::to_string(round));
    std::vector<pid_t> children;
    for (int i = 0; i < 8; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        const toy::Opened opened = open_session({}, out);
        if (opened.status != TENSORTAP_OK) _exit(opened.message.find(out) != std::string::npos ? opened.status : 99);
        run_op(opened.session, add_op(opened.session, "op0"), 0, crash_pattern::values(0, 0));
        usleep(20000);
        _exit(tensortap_session_close(opened.session));
      }
      children.push_back(child);
    }
    std::multiset<int> statuses;
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      statuses.insert(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    EXPECT_EQ(statuses.count(TENSORTAP_OK), 1U) << testing::PrintToString(statuses);
    EXPECT_EQ(statuses.count(TENSORTAP_INVALID_ARGUMENT), 7U) << testing::PrintToString(statuses);
    EXPECT_EQ(toy::read_dump(out)->rows().size(), 1U);
  }
}

TEST(OutputFolder, IsRefusedWhenItCanNotBeUsed) {
  const toy::TempFolder folder;
  std::ofstream(folder / "file") << "x";
  std::filesystem::create_directory(folder / "full");
  std::ofstream(folder / "full/precious") << "x";
  const toy::Opened full = open_session({}, folder / "full");
  EXPECT_EQ(full.status, TENSORTAP_INVALID_ARGUMENT);
  EXPECT_NE(full.message.find("precious"), std::string::npos) << full.message;
  EXPECT_EQ(open_session({}, folder / "file").status, TENSORTAP_INVALID_ARGUMENT);
  const toy::Opened below_file = open_session({}, folder / "file/dump");
  EXPECT_EQ(below_file.status, TENSORTAP_IO) << below_file.message;
  // No user, root included, may create folders in /proc.
  const toy::Opened unwritable = open_session({}, "/proc/tensortap/dump");
  EXPECT_EQ(unwritable.status, TENSORTAP_IO) << unwritable.message;
  EXPECT_NE(unwritable.message.find("--out"), std::string::npos) << unwritable.message;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "full"), {}), 1);
}

TEST(OutputFolder, IsTakenWhenEmpty) {
  const toy::TempFolder folder;
  std::filesystem::create_directory(folder / "empty");
  const toy::Opened opened = open_session({}, folder / "empty/");
  ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
  EXPECT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
}

TEST(OutputFolder, IsTakenWithTheFoldersOfOtherProcessesButNotWithTheirFiles) {
  const toy::TempFolder folder;
  std::filesystem::create_directories(folder / "job/process_17");
  std::filesystem::create_directories(folder / "job/rank_1");
  const toy::Opened opened = open_session({}, folder / "job");
  ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
  EXPECT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
  std::filesystem::create_directory(folder / "files");
  std::ofstream(folder / "files/process_17") << "x";
  EXPECT_EQ(open_session({}, folder / "files").status, TENSORTAP_INVALID_ARGUMENT);
}

TEST(OutputFolder, HasADefaultThatIsNeverTaken) {
  const toy::TempFolder folder;
  const int status = in_child([&folder] {
    if (chdir(folder.path().c_str()) != 0) return 1;
    const toy::Opened first = open_session({}, "");
    const toy::Opened second = open_session({}, "");
    if (first.status != TENSORTAP_OK || second.status != TENSORTAP_OK) return 2;
    tensortap_session_close(first.session);
    tensortap_session_close(second.session);
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "tensortap_dump"), {}), 2);
}

// The session may make a file between the listing of the folder and its removal.
void remove_while_written(const std::string& folder) {
  std::error_code error;
  do std::filesystem::remove_all(folder, error);
  while (error == std::errc::directory_not_empty);
  ASSERT_FALSE(error) << error.message();
}

TEST(OutputFolder, MayVanishWhileRunning) {
  const toy::TempFolder folder;
  const std::string out = folder / "dump";
  const toy::Opened opened = open_session({{"payload", "full"}}, out);
  ASSERT_EQ(opened.status, TENSORTAP_OK);
  const tensortap_op_id op = add_op(opened.session, "op0");
  for (int64_t step = 0; step < 50; ++step) {
    if (step == 10) remove_while_written(out);
    run_op(opened.session, op, step, crash_pattern::values(step, 0));
  }
  const json report = toy::report_of(opened.session);
  EXPECT_EQ(toy::lost_for(report, "output folder was removed or renamed while running"), 50U) << "all that was written into it";
  EXPECT_EQ(report["records"], 0);
  EXPECT_NE(tensortap_session_close(opened.session), TENSORTAP_OK);
}

TEST(OutputFolder, ALinkInItsPlaceLeadsNothingElsewhere) {
  for (const char* layout : {"tap", "ge", "mindspore", "msit"}) {
    const toy::TempFolder folder;
    const std::string out = folder / "dump";
    const toy::Opened opened = open_session({{"payload", "tensor"}, {"layout", layout}}, out);
    ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
    const tensortap_op_id first = add_op(opened.session, "op0");
    for (int64_t step = 0; step < 3; ++step) run_op(opened.session, first, step, crash_pattern::values(step, 0));
    ASSERT_EQ(tensortap_session_flush(opened.session), TENSORTAP_OK) << layout;
    std::filesystem::rename(out, folder / "elsewhere");
    std::filesystem::create_directory(folder / "precious");
    std::filesystem::create_directory_symlink(folder / "precious", out);
    const tensortap_op_id second = add_op(opened.session, "op1");
    for (int64_t step = 3; step < 6; ++step) {
      run_op(opened.session, first, step, crash_pattern::values(step, 0));
      run_op(opened.session, second, step, crash_pattern::values(step, 1));
    }
    tensortap_session_close(opened.session);
    EXPECT_TRUE(std::filesystem::is_empty(folder / "precious")) << layout;
  }
}

// A file system of a few megabytes; not there without the right to mount one.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directory(path);
    mounted_ = mount("tmpfs", path.c_str(), "tmpfs", 0, "size=4m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_;
};

// Takes every byte that is left on the disk of `path`.
void fill_disk(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::vector<char> zeros(4096);
  while (write(file, zeros.data(), zeros.size()) > 0) {
  }
  close(file);
}

TEST(FullDisk, RepairSaysWhatToDoAndKeepsWhatIsThere) {
  const toy::TempFolder folder;
  const SmallDisk disk(folder / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  const std::string out = folder / "disk/dump";
  ASSERT_NO_FATAL_FAILURE(write_and_kill(out, 0));
  const auto before = toy::read_dump(out);
  ASSERT_NE(before, nullptr);
  const size_t records = before->rows().size();
  // Room that was reserved for rows would be enough.
  std::filesystem::resize_file(out + "/records.npy", 4096 + sizeof(tensortap::RecordRow) * records);
  fill_disk(folder / "disk/filler");
  const auto full = tensortap::repair_dump(out, false);
  ASSERT_FALSE(full.ok());
  EXPECT_NE(full.status().message().find("make room on the disk and run `tensortap repair` again"), std::string::npos)
      << full.status().message();
  EXPECT_EQ(toy::read_dump(out)->rows().size(), records);
  std::filesystem::remove(folder / "disk/filler");
  const auto mended = tensortap::repair_dump(out, false);
  ASSERT_TRUE(mended.ok()) << mended.status().message();
  EXPECT_EQ(mended->records_kept, records);
  uint64_t on_the_way = 0;
  const auto dump = toy::read_dump(out);
  ASSERT_NO_FATAL_FAILURE(expect_pattern(*dump, on_the_way));
}

TEST(FullDisk, CostsRecordsButNeverTheProgram) {
  const toy::TempFolder folder;
  const SmallDisk disk(folder / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  const std::string out = folder / "disk/dump";
  const toy::Opened opened = open_session({{"payload", "full"}}, out);
  ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
  std::array<tensortap_op_id, crash_pattern::kOps> ops{};
  for (uint32_t i = 0; i < ops.size(); ++i) ops[i] = add_op(opened.session, "op" + std::to_string(i));
  for (int64_t step = 0; step < 300; ++step) {
    for (uint32_t i = 0; i < ops.size(); ++i) run_op(opened.session, ops[i], step, crash_pattern::values(step, i));
  }
  const json report = toy::report_of(opened.session);
  EXPECT_GT(report["lost"], 100) << report;
  EXPECT_GT(report["bytes"], 1 << 20) << report;
  EXPECT_NE(tensortap_session_close(opened.session), TENSORTAP_OK);
  const auto dump = toy::read_dump(out);
  ASSERT_NE(dump, nullptr);
  size_t with_data = 0;
  for (size_t i = 0; i < dump->rows().size(); ++i) {
    const auto& row = dump->rows()[i];
    const std::vector<float> expected = crash_pattern::values(row.step, row.op);
    EXPECT_EQ(row.stats.max, *std::ranges::max_element(expected));
    if ((row.flags & tensortap::kRecordHasData) == 0) continue;
    ++with_data;
    EXPECT_EQ(toy::floats_of(*dump, i), expected);
  }
  EXPECT_GT(with_data, 50U);
}

TEST(FullDisk, IsKeptFromBeingFilled) {
  const toy::TempFolder folder;
  const SmallDisk disk(folder / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  const std::string out = folder / "disk/dump";
  const toy::Opened refused = open_session({{"payload", "full"}, {"limits", {{"keep_free", 8 << 20}}}}, out);
  EXPECT_EQ(refused.status, TENSORTAP_EXHAUSTED);
  EXPECT_NE(refused.message.find("--keep-free"), std::string::npos) << refused.message;
  EXPECT_FALSE(std::filesystem::exists(out));
  const toy::Opened statistics = open_session({{"payload", "statistics"}, {"limits", {{"keep_free", uint64_t{1} << 40}}}}, out);
  EXPECT_EQ(statistics.status, TENSORTAP_EXHAUSTED) << "what is asked for holds for statistics, too";
  EXPECT_FALSE(std::filesystem::exists(out));
  const toy::Opened opened = open_session({{"payload", "full"}, {"limits", {{"keep_free", 2 << 20}}}}, out);
  ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
  const tensortap_op_id op = add_op(opened.session, "op0");
  for (int64_t step = 0; step < 300; ++step) run_op(opened.session, op, step, std::vector<float>(8192, 1));
  const json report = toy::report_of(opened.session);
  EXPECT_GT(toy::lost_for(report, "disk: no more than keep_free left"), 100U);
  EXPECT_EQ(tensortap_session_close(opened.session), TENSORTAP_EXHAUSTED);
  EXPECT_GE(std::filesystem::space(folder / "disk").available, (2U << 20) - (512U << 10));
}

TEST(FullDisk, IsToldFromAFileSizeLimit) {
  const toy::TempFolder folder;
  const std::string out = folder / "dump";
  const int status = in_child([&out] {
    const rlimit limit{3 << 20, 3 << 20};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    const toy::Opened opened = open_session({{"payload", "full"}}, out);
    if (opened.status != TENSORTAP_OK) return 1;
    const tensortap_op_id op = add_op(opened.session, "op0");
    for (int64_t step = 0; step < 600; ++step) run_op(opened.session, op, step, crash_pattern::values(step, 0));
    const json report = toy::report_of(opened.session);
    if (report["lost"] < 50 || report["records"] < 50) return 2;
    return tensortap_session_close(opened.session) == TENSORTAP_OK ? 3 : 0;
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
