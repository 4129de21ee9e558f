#include "base/files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include "base/temporary_folder.h"

namespace {

// How many of the next writes fail with an error of the device.
int failing_writes = 0;

template <class Write, class... Arguments>
ssize_t write_unless_failing(Write* /*type*/, const char* name, Arguments... arguments) {
  if (failing_writes > 0) {
    --failing_writes;
    errno = EIO;
    return -1;
  }
  return reinterpret_cast<Write*>(dlsym(RTLD_NEXT, name))(arguments...);
}

}  // namespace

extern "C" ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return write_unless_failing(&pwrite, "pwrite", file, bytes, size, offset);
}

extern "C" ssize_t pwritev2(int file, const iovec* parts, int count, off_t offset, int flags) {
  return write_unless_failing(&pwritev2, "pwritev2", file, parts, count, offset, flags);
}

namespace tensortap {
namespace {

TEST(Files, AWriteThatFailsWithAnErrorOfTheDeviceIsTriedAgain) {
  const TemporaryFolder folder;
  const std::string path = join_path(folder.path(), "file");
  Result<File> file = File::open(path, O_RDWR | O_CREAT | O_EXCL);
  ASSERT_TRUE(file.ok());
  failing_writes = 2;
  EXPECT_TRUE(file->write_at(0, std::as_bytes(std::span("text", 4))).ok());
  EXPECT_EQ(failing_writes, 0);
  EXPECT_EQ(*read_file(path), "text");
  failing_writes = 100;
  EXPECT_EQ(file->write_at(4, std::as_bytes(std::span("more", 4))).system_error(), EIO);
  failing_writes = 0;
  EXPECT_EQ(*read_file(path), "text");
  failing_writes = 2;
  EXPECT_EQ(*file->append(std::as_bytes(std::span("more", 4))), 4U);
  EXPECT_EQ(failing_writes, 0);
  EXPECT_EQ(*read_file(path), "textmore");
}

TEST(Files, AppendTellsWhereItWrote) {
  const TemporaryFolder folder;
  const std::string path = join_path(folder.path(), "file");
  Result<File> file = File::open(path, O_RDWR | O_CREAT | O_EXCL);
  ASSERT_TRUE(file.ok());
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  EXPECT_EQ(*file->append(bytes("one "), bytes("two")), 0U);
  EXPECT_EQ(*file->append(bytes(" three")), 7U);
  EXPECT_EQ(*file->append({}), 13U);
  std::filesystem::resize_file(path, 4);
  EXPECT_EQ(*file->append(bytes("more")), 4U) << "where the file that was cut ends";
  EXPECT_EQ(*read_file(path), "one more");
}

}  // namespace
}  // namespace tensortap
