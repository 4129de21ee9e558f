// What a dump may take and who may read it, in every layout: the program's limit for files, "max_bytes", "mode".

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/size_signal.h"
#include "forked_child.h"
#include "toy_engine.h"

namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kLayouts[] = {"tap", "mindspore", "ge"};

json config_for(const std::string& layout, const char* payload = "full") { return {{"layout", layout}, {"payload", payload}}; }

// Runs ops of `elements` floats, one after another, for some steps.
void run_steps(tensortap_session* session, int64_t steps, size_t ops, size_t elements) {
  std::vector<tensortap_op_id> ids;
  for (size_t op = 0; op < ops; ++op) ids.push_back(toy::add_op(session, "op" + std::to_string(op)));
  for (int64_t step = 0; step < steps; ++step) {
    tensortap_step_begin(session, step, 0);
    for (size_t op = 0; op < ops; ++op) {
      toy::run_op(session, ids[op], step, std::vector<float>(elements, static_cast<float>(step * 100 + static_cast<int64_t>(op))));
    }
    tensortap_step_end(session, step, 0);
  }
}

void limit_files(rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

uint64_t lost_to_file_size(const json& report) {
  uint64_t lost = 0;
  for (const json& loss : report["losses"]) {
    if (loss["reason"].get<std::string>().find("file too large: ulimit -f") == std::string::npos) continue;
    EXPECT_EQ(loss["kind"], "failure");
    lost += loss["count"].get<uint64_t>();
  }
  return lost;
}

// Writes more than the limit lets in; 0 when only our records were lost.
int capture_beyond_limit(const std::string& layout, const char* payload, int64_t steps, const std::string& out) {
  const toy::Opened opened = toy::open_session(config_for(layout, payload), out);
  if (opened.status != TENSORTAP_OK) return 1;
  limit_files(uint64_t{1} << 20);
  // Small records, many fill a file, then tensors that no file takes.
  run_steps(opened.session, steps, 2, 100);
  const tensortap_op_id large = toy::add_op(opened.session, "large");
  tensortap_step_begin(opened.session, 4000, 0);
  for (int call = 0; call < 3; ++call) toy::run_op(opened.session, large, 4000, std::vector<float>(400'000, 1));
  tensortap_step_end(opened.session, 4000, 0);
  const json report = toy::report_of(opened.session);
  tensortap_session_close(opened.session);
  return lost_to_file_size(report) > 0 ? 0 : 2;
}

TEST(FileSizeLimit, CostsRecordsAndNeverTheProgram) {
  for (const char* layout : kLayouts) {
    const toy::TempFolder folder;
    EXPECT_EQ(forked::end_of([&] { return capture_beyond_limit(layout, "full", 20, folder / "dump"); }), 0) << layout;
  }
}

// Rows of statistics are written on the program's own threads.
TEST(FileSizeLimit, CostsStatisticsAndNeverTheProgram) {
  const toy::TempFolder folder;
  EXPECT_EQ(forked::end_of([&] { return capture_beyond_limit("tap", "statistics", 3000, folder / "dump"); }), 0);
}

TEST(FileSizeLimit, StillEndsTheProgramThatWritesBeyondItItself) {
  const toy::TempFolder folder;
  const int status = forked::end_of([&] {
    if (capture_beyond_limit("tap", "full", 20, folder / "dump") != 0) return 1;
    const std::string block(2 << 20, 'x');
    const int file = creat((folder / "own").c_str(), 0600);
    while (write(file, block.data(), block.size()) > 0) continue;
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGXFSZ);
}

TEST(FileSizeLimit, LeavesASignalOfTheProgramThatWaits) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGXFSZ);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &only, &before);
  raise(SIGXFSZ);
  const auto refuse = [] {
    errno = EFBIG;
    return -1;
  };
  tensortap::without_size_signal(refuse);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGXFSZ), 1);
  tensortap::take_back_size_signal();
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGXFSZ), 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

struct Size {
  uint64_t bytes = 0;
  uint64_t blocks = 0;  // in bytes
  uint64_t files = 0;
};

Size size_of(const std::string& folder) {
  Size size;
  std::map<ino_t, bool> seen;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    struct stat info {};
    if (lstat(entry.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode) || !seen.emplace(info.st_ino, true).second) continue;
    size.bytes += static_cast<uint64_t>(info.st_size);
    size.blocks += static_cast<uint64_t>(info.st_blocks) * 512;
    ++size.files;
  }
  return size;
}

// Small tensors, of which headers and rows are the larger part.
TEST(MaxBytes, HoldsForTheWholeDump) {
  for (const char* layout : kLayouts) {
    const bool packed = std::string(layout) == "tap";
    const int64_t steps = packed ? 400 : 150;
    for (const char* payload : {"full", "tensor", "statistics"}) {
      for (const uint64_t most : {uint64_t{200'000}, packed ? uint64_t{2'000'000} : uint64_t{500'000}}) {
        const toy::TempFolder folder;
        const std::string out = folder / "dump";
        json config = config_for(layout, payload);
        config["limits"]["max_bytes"] = most;
        const toy::Opened opened = toy::open_session(config, out);
        ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
        run_steps(opened.session, steps, 20, 10);
        const json report = toy::report_of(opened.session);
        EXPECT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK) << "a limit is no failure";
        const Size size = size_of(out);
        const std::string which = std::string(layout) + " " + payload + " " + std::to_string(most);
        EXPECT_LE(size.bytes, most) << which << ", files: " << size.files;
        EXPECT_LE(size.blocks, most) << which << ", files: " << size.files;
        EXPECT_GE(size.blocks, most / 2) << which << ": more would have had room";
        EXPECT_GT(report["records"].get<uint64_t>(), 0U) << which;
        EXPECT_GT(toy::lost_for(report, "limit: max_bytes"), 0U) << which << report["losses"];
        for (const json& loss : report["losses"]) EXPECT_EQ(loss["kind"], "limit") << which << loss;
        EXPECT_EQ(toy::read_dump(out)->rows().size(), report["records"].get<uint64_t>()) << which;
        // With rows alone a record may be there and its data lost.
        if (std::string(payload) == "full" || packed) continue;
        EXPECT_EQ(report["records"].get<uint64_t>() + report["lost"].get<uint64_t>(), static_cast<uint64_t>(steps) * 20) << which;
      }
    }
  }
}

// An op that does not get its line has no records, and the file of lines stays small, too.
TEST(MaxBytes, HoldsForThousandsOfOps) {
  const toy::TempFolder folder;
  json config = config_for("tap", "statistics");
  config["limits"]["max_bytes"] = 300'000;
  const toy::Opened opened = toy::open_session(config, folder / "dump");
  run_steps(opened.session, 1, 5000, 4);
  ASSERT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
  EXPECT_LE(size_of(folder / "dump").blocks, 300'000U);
  const auto dump = toy::read_dump(folder / "dump");
  for (const auto& row : dump->rows()) EXPECT_FALSE(tensortap::op_of(*dump, row).name.empty());
}

// Every mode that folders and files below `folder` have, itself included: "drwx------".
std::map<std::string, std::vector<std::string>> modes_in(const std::string& folder) {
  std::map<std::string, std::vector<std::string>> modes;
  const auto add = [&modes](const std::filesystem::path& path) {
    struct stat info {};
    ASSERT_EQ(lstat(path.c_str(), &info), 0);
    std::array<char, 16> text{};
    snprintf(text.data(), text.size(), "%s %o", S_ISDIR(info.st_mode) ? "folder" : "file", info.st_mode & 07777);
    modes[text.data()].push_back(path);
  };
  add(folder);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) add(entry.path());
  return modes;
}

std::vector<std::string> names_of(const std::map<std::string, std::vector<std::string>>& modes) {
  std::vector<std::string> names;
  for (const auto& [name, files] : modes) names.push_back(name);
  return names;
}

void write_dump(const std::string& layout, const char* mode, const std::string& out) {
  json config = config_for(layout);
  if (mode != nullptr) config["mode"] = mode;
  if (layout == "tap") config["histogram"] = true;
  const toy::Opened opened = toy::open_session(config, out);
  ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
  run_steps(opened.session, 2, 2, 10);
  ASSERT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
}

TEST(Mode, IsForTheOwnerAloneUnlessShared) {
  using testing::UnorderedElementsAre;
  const mode_t before = umask(022);
  for (const char* layout : kLayouts) {
    const toy::TempFolder folder;
    ASSERT_NO_FATAL_FAILURE(write_dump(layout, nullptr, folder / "outer/private"));
    ASSERT_NO_FATAL_FAILURE(write_dump(layout, "shared", folder / "shared"));
    const auto own = modes_in(folder / "outer");
    const auto others = modes_in(folder / "shared");
    if (std::string(layout) == "mindspore") {
      // MindSpore makes finished files read-only, but not statistic.csv.
      EXPECT_THAT(names_of(own), UnorderedElementsAre("folder 700", "file 400", "file 600"));
      EXPECT_THAT(names_of(others), UnorderedElementsAre("folder 755", "file 444", "file 644"));
      EXPECT_THAT(own.at("file 600"), testing::Each(HasSubstr("statistic.csv")));
    } else {
      EXPECT_THAT(names_of(own), UnorderedElementsAre("folder 700", "file 600")) << layout;
      EXPECT_THAT(names_of(others), UnorderedElementsAre("folder 755", "file 644")) << layout;
    }
  }
  umask(before);
}

TEST(Mode, OfCrashFilesToo) {
  const mode_t before = umask(022);
  for (const char* mode : {"private", "shared"}) {
    const toy::TempFolder folder;
    json config = {{"trigger", "exception"}, {"mode", mode}};
    const toy::Opened opened = toy::open_session(config, folder / "dump");
    EXPECT_THAT(names_of(modes_in(folder / "dump")), testing::Contains(std::string(mode) == "shared" ? "file 644" : "file 600"));
    EXPECT_EQ(names_of(modes_in(folder / "dump")).size(), 2U);
    tensortap_session_close(opened.session);
  }
  umask(before);
}

TEST(Mode, OfAnUnknownNameIsRefused) {
  const toy::TempFolder folder;
  const toy::Opened opened = toy::open_session({{"mode", "secret"}}, folder / "dump");
  EXPECT_EQ(opened.status, TENSORTAP_INVALID_ARGUMENT);
  EXPECT_THAT(opened.message, HasSubstr("private"));
}

}  // namespace
