// Taps on real libraries: TENSORTAP_TEST_RUNTIMES names a folder with one folder per release.

#include "source/onnxruntime/taps/captured_model.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "fake_capture.h"
#include "source/onnxruntime/run/run_inputs.h"
#include "source/onnxruntime/run/runtime_check.h"
#include "source/onnxruntime/taps/event_sender.h"

namespace tensortap::onnxruntime {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<std::string> releases() {
  const auto names = list_directory(from_environment("TENSORTAP_TEST_RUNTIMES"));
  return names.ok() ? *names : std::vector<std::string>();
}

std::shared_ptr<const RuntimeLibrary> library_of(const std::string& release) {
  auto library = load_runtime(join_path(from_environment("TENSORTAP_TEST_RUNTIMES"), release));
  EXPECT_TRUE(library.ok()) << library.status().message();
  return library.ok() ? *library : nullptr;
}

// Keeps which node fired in which run.
class FireLog : public TapListener {
 public:
  bool wants(const Tap&, const Run&) override { return true; }
  void on_tap(const FiredTap& fired, const Run& run) override {
    const std::lock_guard lock(mutex_);
    fired_[run.number].push_back(fired.tap.node);
  }
  std::map<uint64_t, std::vector<uint32_t>> take() { return std::move(fired_); }

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::vector<uint32_t>> fired_;
};

// Gives runs their steps, every second one without a listener.
class StepGiver : public FireLog {
 public:
  void run_begins(Run& run) override {
    run.number = static_cast<uint64_t>(begun++);
    if (run.number % 2 == 1) run.listener = nullptr;
  }
  void run_ends(const Run& run) override { ended.insert(run.number); }
  int begun = 0;  // both under the tracker's lock
  std::multiset<uint64_t> ended;
};

class CapturedModel : public testing::Test {
 protected:
  void SetUp() override {
    if (releases().empty()) GTEST_SKIP() << "TENSORTAP_TEST_RUNTIMES is not set";
    auto folder = ScratchFolder::create();
    ASSERT_TRUE(folder.ok());
    folder_ = *std::move(folder);
    ASSERT_TRUE(write_file_atomically(path(), self_test_model()).ok());
  }

  [[nodiscard]] std::string path() const { return join_path(folder_.path(), "model.onnx"); }

  std::unique_ptr<PreparedModel> prepare(const std::string& release) {
    ModelOptions options;
    options.path = path();
    options.threads = 1;
    auto model = PreparedModel::prepare(library_of(release), options);
    EXPECT_TRUE(model.ok()) << model.status().message();
    return model.ok() ? *std::move(model) : nullptr;
  }

  static RunInputs inputs_of(const PreparedModel& model) {
    InputOptions options;
    options.model_inputs = &model.inputs();
    auto inputs = RunInputs::create(model.library(), options);
    EXPECT_TRUE(inputs.ok());
    return *std::move(inputs);
  }

  ScratchFolder folder_;
};

TEST_F(CapturedModel, SelfTestPassesOnEveryRelease) {
  for (const std::string& release : releases()) {
    const Status status = run_self_test(library_of(release));
    EXPECT_TRUE(status.ok()) << release << ": " << status.message();
  }
}

TEST_F(CapturedModel, TwoReleasesRunSideBySideInOneProcess) {
  std::vector<std::unique_ptr<PreparedModel>> models;
  std::vector<std::unique_ptr<TappedSession>> sessions;
  for (const std::string& release : releases()) {
    models.push_back(prepare(release));
    auto session = TappedSession::open(*models.back(), TapStyle::kSide, "");
    ASSERT_TRUE(session.ok()) << session.status().message();
    sessions.push_back(*std::move(session));
  }
  if (models.size() < 2) GTEST_SKIP() << "only one release is installed";
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < models.size(); ++i) {
      FireLog log;
      onnxruntime::Run run;
      run.listener = &log;
      EXPECT_TRUE(sessions[i]->run(inputs_of(*models[i]).of_step(0), run).status.ok());
      EXPECT_EQ(log.take()[0].size(), 4u) << releases()[i];
    }
  }
}

TEST_F(CapturedModel, AliasTapsSeeTheSameOps) {
  for (const std::string& release : releases()) {
    const auto model = prepare(release);
    auto session = TappedSession::open(*model, TapStyle::kAlias, "");
    ASSERT_TRUE(session.ok()) << session.status().message();
    FireLog log;
    onnxruntime::Run run;
    run.listener = &log;
    EXPECT_TRUE((*session)->run(inputs_of(*model).of_step(0), run).status.ok());
    EXPECT_EQ(log.take()[0].size(), 4u) << release;
  }
}

// Eight threads on one session: each run's taps are whole and its own.
TEST_F(CapturedModel, ConcurrentRunsAreKeptApartWhenAnnounced) {
  for (const std::string& release : releases()) {
    const auto model = prepare(release);
    auto session = TappedSession::open(*model, TapStyle::kSide, "");
    ASSERT_TRUE(session.ok());
    const RunInputs inputs = inputs_of(*model);
    FireLog log;
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        for (uint64_t i = 0; i < 50; ++i) {
          onnxruntime::Run run;
          run.number = thread * 1000 + i;
          run.listener = &log;
          EXPECT_TRUE((*session)->run(inputs.of_step(0), run).status.ok());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const auto runs = log.take();
    EXPECT_EQ(runs.size(), 400u) << release;
    for (const auto& [number, nodes] : runs)
      EXPECT_EQ(std::set<uint32_t>(nodes.begin(), nodes.end()).size(), 4u) << release << " run " << number;
  }
}

TEST_F(CapturedModel, ConcurrentRunsAreKeptApartByTheirLoggerWhenNobodyAnnouncedThem) {
  for (const std::string& release : releases()) {
    const auto model = prepare(release);
    auto session = TappedSession::open(*model, TapStyle::kSide, "");
    ASSERT_TRUE(session.ok());
    const RunInputs inputs = inputs_of(*model);
    FireLog log;
    (*session)->tracker().set_listener(&log);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) EXPECT_TRUE((*session)->session().run(inputs.of_step(0), model->output_names()).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
    const auto runs = log.take();
    EXPECT_EQ(runs.size(), 400u) << release;
    for (const auto& [number, nodes] : runs) EXPECT_EQ(nodes.size(), 4u) << release << " run " << number;
  }
}

TEST_F(CapturedModel, RunsThatNobodyAnnouncedAreBegunAndEndedByTheirListener) {
  for (const std::string& release : releases()) {
    const auto model = prepare(release);
    auto session = TappedSession::open(*model, TapStyle::kSide, "");
    ASSERT_TRUE(session.ok());
    const RunInputs inputs = inputs_of(*model);
    StepGiver giver;
    (*session)->tracker().set_listener(&giver);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) EXPECT_TRUE((*session)->session().run(inputs.of_step(0), model->output_names()).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(giver.begun, 200) << release;
    EXPECT_EQ(giver.ended.size(), 200u) << release;
    EXPECT_EQ(std::set(giver.ended.begin(), giver.ended.end()).size(), 200u) << release << ": a run ended twice";
    EXPECT_EQ(giver.take().size(), 100u) << release;
  }
}

TEST_F(CapturedModel, EventsNameProducersAndDurations) {
  const auto model = prepare(releases().back());
  fake_capture::Session told;
  auto* capture = reinterpret_cast<tensortap_session*>(&told);
  EventSender sender(capture, model->ops(), register_ops(capture, model->ops()), {});
  auto session = TappedSession::open(*model, TapStyle::kSide, "");
  ASSERT_TRUE(session.ok());
  onnxruntime::Run run;
  run.step = 7;
  run.listener = &sender;
  ASSERT_TRUE((*session)->run(inputs_of(*model).of_step(0), run).status.ok());
  std::map<std::string, const fake_capture::Op*> ops;
  for (const auto& op : told.ops) ops[op.name] = &op;
  ASSERT_TRUE(ops.contains("add"));
  EXPECT_EQ(told.ops[ops["add"]->producers[0]].name, "x");
  EXPECT_EQ(told.ops[ops["add"]->producers[0]].type, "Input");
  EXPECT_EQ(told.ops[ops["add"]->producers[1]].type, "Initializer");
  EXPECT_EQ(ops["choose/then_branch/squared_node"]->graph, "choose/then_branch");
  EXPECT_EQ(told.ops[ops["choose/then_branch/squared_node"]->parent].name, "choose");
  EXPECT_EQ(told.ops[ops["choose/then_branch/squared_node"]->producers[0]].name, "add");
  ASSERT_EQ(told.events.size(), 4u);
  for (const auto& event : told.events) {
    EXPECT_EQ(event.step, 7);
    EXPECT_GE(event.duration_ns, 0) << told.ops[event.op].name;
  }
}

}  // namespace
}  // namespace tensortap::onnxruntime
