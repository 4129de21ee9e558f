#include "source/onnxruntime/runtime/runtime_library.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "source/onnxruntime/model/scratch_folder.h"

namespace tensortap::onnxruntime {
namespace {

TEST(RuntimeLibrary, AMissingLibraryIsNamed) {
  const auto library = load_runtime("no/such/libonnxruntime.so");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.status().code(), StatusCode::kNotFound);
  EXPECT_NE(library.status().message().find("no/such/libonnxruntime.so"), std::string::npos);
}

TEST(RuntimeLibrary, ABrokenLibraryIsAnErrorWithTheLoadersReason) {
  const auto folder = ScratchFolder::create();
  ASSERT_TRUE(folder.ok());
  const std::string path = join_path(folder->path(), "libonnxruntime.so.1.31.1");
  ASSERT_TRUE(write_file_atomically(path, "this is no library").ok());
  const auto library = load_runtime(folder->path());
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(library.status().message().find("cannot load"), std::string::npos) << library.status().message();
}

TEST(RuntimeLibrary, AnotherLibraryIsNotMistakenForTheRuntime) {
  const auto library = RuntimeLibrary::open("libm.so.6");
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.status().message().find("not ONNX Runtime"), std::string::npos) << library.status().message();
}

}  // namespace
}  // namespace tensortap::onnxruntime
