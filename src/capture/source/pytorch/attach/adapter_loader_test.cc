#include "source/pytorch/attach/adapter_loader.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "source/pytorch/attach/adapter_places.h"

// TENSORTAP_FAKES: the folder where CMake puts the builds of tests/fake_torch.c and tests/fake_adapter.c.
namespace tensortap::pytorch {
namespace {

// The fakes that a test needs, under the names that they have in a real installation.
class AdapterLoader : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(make_directories(folder_.path() + "/torch/lib").ok()); }
  std::string install(const std::string& fake, const std::string& name) const {
    std::string path = folder_.path() + "/" + name;
    std::filesystem::copy_file(std::string(TENSORTAP_FAKES) + "/" + fake + ".so", path);
    return path;
  }
  [[nodiscard]] TorchVersion version() const { return {2, 13, 1, true, "", folder_.path() + "/torch/lib/libtorch_cpu.so"}; }
  Status load(const std::string& fake) {
    install(fake, adapter_file_name(version()));
    return load_adapter(version(), {folder_.path() + "/none", folder_.path()}, tracker_, adapter_);
  }
  void expect_refused(const std::string& fake, const std::string& part) {
    const Status status = load(fake);
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << status.message();
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("tensortap build-adapter --libtorch " + folder_.path() + "/torch`"), std::string::npos)
        << status.message();
    EXPECT_EQ(adapter_.observe, nullptr) << "a refused adapter was handed out";
  }
  TemporaryFolder folder_;
  tensortap_torch_tracker tracker_{};
  tensortap_torch_adapter adapter_{};
};

// A library under test, closed at the end.
struct Library {
  explicit Library(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle != nullptr) dlclose(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  void* handle;
};

TEST_F(AdapterLoader, AsksTheLibraryForItsRelease) {
  const std::string path = install("fake_torch", "torch/lib/libtorch_cpu.so");
  const Library library(path);
  ASSERT_NE(library.handle, nullptr) << dlerror();
  const auto found = torch_version(library.handle, path);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->major, 2);
  EXPECT_EQ(found->minor, 13);
  EXPECT_EQ(found->string_abi, 1);
  EXPECT_EQ(found->library, path);
  EXPECT_FALSE(found->released) << "no file beside it reports a release";
  EXPECT_EQ(found->build_id, "00112233445566778899aabbccddeeff");  // CMake has the linker set it
}

TEST_F(AdapterLoader, AsksTheFilesWhereTheLibraryDoesNotTell) {
  const std::string path = install("fake_torch_old", "torch/lib/libtorch_cpu.so");
  const Library library(path);
  ASSERT_NE(library.handle, nullptr) << dlerror();
  const auto unknown = torch_version(library.handle, path);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(write_file_atomically(folder_.path() + "/torch/version.py", "__version__ = '2.4.1+cu121'\n").ok());
  const auto found = torch_version(library.handle, path);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(adapter_file_name(*found), "tensortap_torch_2.4_0.so");
  EXPECT_TRUE(found->released);
  EXPECT_EQ(found->build_id, "");
}

TEST_F(AdapterLoader, OfALibraryThatIsNoTorchIsNotFound) {
  const Library library("libm.so.6");
  ASSERT_NE(library.handle, nullptr) << dlerror();
  EXPECT_EQ(torch_version(library.handle, "/nowhere/lib/libm.so.6").status().code(), StatusCode::kNotFound);
}

TEST_F(AdapterLoader, LoadsTheFirstThatFits) {
  const Status status = load("fake_adapter");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_STREQ(adapter_.torch_version, "2.13.0");
  EXPECT_NE(adapter_.observe, nullptr);
}

TEST_F(AdapterLoader, WithoutAnAdapterSaysTheCommandThatBuildsOne) {
  const Status status = load_adapter(version(), {folder_.path()}, tracker_, adapter_);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("torch 2.13"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("`tensortap build-adapter --libtorch " + folder_.path() + "/torch`"), std::string::npos)
      << status.message();
}

TEST_F(AdapterLoader, UsesThePrebuiltOneForReleasesAlone) {
  // Beside the code that searches; here that is the test program.
  const std::string prebuilt = package_adapters();
  ASSERT_TRUE(make_directories(prebuilt).ok());
  TorchVersion of_others = version();
  of_others.minor = 98;
  of_others.released = false;
  const std::string path = prebuilt + "/" + adapter_file_name(of_others);
  ASSERT_TRUE(write_file_atomically(path, "not an ELF file").ok());
  const auto code = [&] { return load_adapter(of_others, {prebuilt}, tracker_, adapter_).code(); };
  EXPECT_EQ(code(), StatusCode::kNotFound);
  of_others.released = true;
  EXPECT_EQ(code(), StatusCode::kUnsupported);
  std::filesystem::remove(path);
}

TEST_F(AdapterLoader, RefusesAnotherInterface) { expect_refused("fake_adapter_interface", "interface 999"); }
TEST_F(AdapterLoader, RefusesAnotherRelease) {
  expect_refused("fake_adapter_release", "built for torch 2.12.1, this process has torch 2.13");
}
TEST_F(AdapterLoader, RefusesOneThatRefuses) { expect_refused("fake_adapter_unwilling", "refused to work"); }
TEST_F(AdapterLoader, RefusesALibraryThatIsNone) { expect_refused("fake_torch", "no adapter"); }

TEST_F(AdapterLoader, RefusesAFileThatIsNoLibrary) {
  const std::string path = folder_.path() + "/" + adapter_file_name(version());
  ASSERT_TRUE(write_file_atomically(path, "not an ELF file").ok());
  const Status status = load_adapter(version(), {folder_.path()}, tracker_, adapter_);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported) << status.message();
  EXPECT_NE(status.message().find("cannot be loaded"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace tensortap::pytorch
