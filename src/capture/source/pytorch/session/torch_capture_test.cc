#include "source/pytorch/session/torch_capture.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "fake_session.h"
#include "source/pytorch/attach/fake_torch.h"

namespace tensortap::pytorch {
namespace {

// Whether torch's callbacks were turned on or off.
std::vector<bool>& turns() {
  static std::vector<bool> made;
  return made;
}

// What a budget or --steps leaves out must cost nothing: that is what captured steps are compared with.
TEST(TorchCapture, HasNoCallbacksInStepsThatAreNotCaptured) {
  turns().clear();
  auto runtime = std::make_unique<TorchRuntime>();
  runtime->adapter.observe = [](int enabled, uint32_t) { turns().push_back(enabled != 0); };
  set_endless_storages(runtime->adapter);
  runtime->bootstrapped = true;
  fake_capture::Session told;
  told.unwanted_steps = {1, 2, 4};
  TorchCapture capture(reinterpret_cast<tensortap_session*>(&told), *runtime);

  std::vector<bool> watched;
  capture.steps.begin();
  for (int step = 0; step < 6; ++step) {
    watched.push_back(turns().back());
    capture.steps.program_steps();
  }
  EXPECT_EQ(watched, (std::vector<bool>{true, false, false, true, false, true}));
  EXPECT_EQ(turns(), (std::vector<bool>{true, false, true, false, true})) << "each change once";
  EXPECT_EQ(told.begun, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6})) << "the session counts them all";
}

}  // namespace
}  // namespace tensortap::pytorch
