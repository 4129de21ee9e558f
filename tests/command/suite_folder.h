// SuiteFolder: one folder for all tests of a suite, whose dumps are made once.

#ifndef TENSORTAP_TESTS_COMMAND_SUITE_FOLDER_H_
#define TENSORTAP_TESTS_COMMAND_SUITE_FOLDER_H_

#include <gtest/gtest.h>

#include <string>

#include "command/command.h"
#include "toy_engine.h"

namespace command {

// Suite derives from this, and has a static make(), which fills the folder; no test may write into what it made there. Without ONNX Runtime
// nothing is made, and the tests are skipped.
template <typename Suite>
class SuiteFolder : public testing::Test {
 public:
  static void SetUpTestSuite() {
    if (!has_runtime()) return;
    folder_ = new toy::TempFolder();
    Suite::make();
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

 protected:
  void SetUp() override {
    if (!has_runtime()) GTEST_SKIP() << "no ONNX Runtime";
  }
  // Runs a command line in the folder, on a terminal of no width or of `columns`.
  static Done at(const std::string& words, const std::string& columns = "") {
    return tensortap(words, {folder_->path(), {{"COLUMNS", columns}}});
  }
  static std::string path(const std::string& name) { return *folder_ / name; }

  inline static toy::TempFolder* folder_ = nullptr;
};

}  // namespace command

#endif  // TENSORTAP_TESTS_COMMAND_SUITE_FOLDER_H_
