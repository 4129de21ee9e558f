#include "base/files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "base/temporary_folder.h"

namespace {

// How many of the next writes fail with an error of the device.
int failing_writes = 0;

template <class Write>
ssize_t write_unless_failing(const char* name, int file, const void* bytes, size_t size, off_t offset) {
  if (failing_writes > 0) {
    --failing_writes;
    errno = EIO;
    return -1;
  }
  return reinterpret_cast<Write>(dlsym(RTLD_NEXT, name))(file, bytes, size, offset);
}

}  // namespace

extern "C" ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return write_unless_failing<decltype(&pwrite)>("pwrite", file, bytes, size, offset);
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
}

}  // namespace
}  // namespace tensortap
