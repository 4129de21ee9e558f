#include "source/onnxruntime/model/scratch_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files.h"
#include "base/temporary_folder.h"

namespace tensortap::onnxruntime {
namespace {

// As if it had been made long ago.
void make_old(const std::string& path) {
  const timespec times[2] = {{1'000'000, 0}, {1'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(ScratchFolder, TheNextOneTakesAwayWhatAKilledProcessLeft) {
  const TemporaryFolder place;
  const char* before = getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string former = before == nullptr ? "" : before;
  ASSERT_EQ(setenv("TMPDIR", place.path().c_str(), 1), 0);  // NOLINT(concurrency-mt-unsafe)
  const pid_t child = fork();
  if (child == 0) {
    const auto folder = ScratchFolder::create();
    const bool written = folder.ok() && write_file_atomically(join_path(folder->path(), "weights"), "secret").ok();
    // As SIGKILL ends a process: nothing is cleaned up.
    _exit(written ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const auto names = list_directory(place.path());
  ASSERT_EQ(names->size(), 1U);
  const std::string left = join_path(place.path(), names->front());
  {
    auto living = ScratchFolder::create();
    ASSERT_TRUE(living.ok());
    EXPECT_TRUE(path_exists(left)) << "it may have been made a moment ago, by a process that does not hold it yet";
    make_old(left);
    make_old(living->path());
    const auto next = ScratchFolder::create();
    EXPECT_FALSE(path_exists(left));
    EXPECT_TRUE(path_exists(living->path())) << "its process lives";
  }
  EXPECT_TRUE(list_directory(place.path())->empty());
  if (former.empty()) {
    unsetenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
  } else {
    setenv("TMPDIR", former.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
}

}  // namespace
}  // namespace tensortap::onnxruntime
