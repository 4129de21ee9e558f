// Many sessions in one process: they share memory, handlers of signals and nothing else.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tensortap/capture.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include "base/text.h"
#include "session/capture_session.h"
#include "session/fake_layout.h"

namespace tensortap {
namespace {

// What the layouts of all sessions saw, together.
std::atomic<uint64_t> records_seen{0};
std::atomic<uint64_t> values_wrong{0};

class CountingWriter : public FakeLayout {
 public:
  Status add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* /*histogram*/) override {
    ++records_seen;
    const auto* values = data == nullptr ? nullptr : static_cast<const float*>(data->data);
    for (uint64_t i = 0; values != nullptr && i < row.numel; ++i) values_wrong += values[i] == static_cast<float>(row.step) ? 0 : 1;
    return row.step % 64 == 63 ? io_error("one of many") : Status();
  }
};

Result<std::unique_ptr<LayoutWriter>> create_counting(const DumpInfo& /*info*/, const CaptureSpec& /*spec*/) {
  return std::unique_ptr<LayoutWriter>(new CountingWriter());
}

class ManySessions : public testing::Test {
 protected:
  ManySessions() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tensortap-many-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    layout_.name = "counting";
    layout_.create = create_counting;
    records_seen = values_wrong = 0;
  }
  ~ManySessions() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<CaptureSession> open(int number, uint64_t pool_bytes, Trigger trigger = Trigger::kAlways) {
    SessionOptions options;
    options.spec = FakeParts::spec();
    options.spec.payload = Payload::kTensor;
    options.spec.trigger = trigger;
    options.spec.limits.pool_bytes = pool_bytes;
    options.spec.out = concat(folder_, "/", number);
    options.layout = &layout_;
    auto opened = CaptureSession::open(std::move(options));
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return *std::move(opened);
  }
  static void run(CaptureSession& session, OpId op, int64_t step, size_t count) {
    FakeEvent event(op, std::vector<float>(count, static_cast<float>(step)));
    event.event.step = step;
    session.on_op(event.event);
  }
  static OpId add_op(CaptureSession& session) {
    OpInfo info;
    info.name = "op";
    info.type = "T";
    return session.register_op(info);
  }

  Layout layout_{};
  std::string folder_;
};

TEST_F(ManySessions, TwentyInFourThreadsLeaveEachOtherAlone) {
  constexpr int kSessions = 20;
  constexpr int kThreads = 4;
  std::atomic<int> next{0};
  std::atomic<uint64_t> told{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<uint32_t>(thread));
      for (int number = next++; number < kSessions; number = next++) {
        // Pools from three to hundreds of tensors: some sessions wait, some write by themselves.
        const auto session = open(number, uint64_t{16} << (10 + number % 8));
        const OpId op = add_op(*session);
        const int steps = 20 + static_cast<int>(random() % 80);
        const bool discards = random() % 5 == 0;
        for (int step = 0; step < steps; ++step, ++told) {
          session->step_begin(step, 0);
          run(*session, op, step, 1 + random() % 2048);
          session->step_end(step, 0);
          if (random() % 16 == 0) (void)session->flush();
        }
        if (discards) {
          session->discard();
        } else {
          EXPECT_EQ(session->close().ok(), steps < 64) << "the error is the session's that has 64 steps";
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(records_seen.load(), told.load()) << "a record whose data could not be written is tried again without it";
  EXPECT_EQ(values_wrong.load(), 0U);
}

TEST_F(ManySessions, AFullPoolHoldsUpNobodyElse) {
  PoolAccount other(1 << 20);
  const PoolBuffer all = other.acquire(1 << 20, PoolAccount::WhenFull::kGiveUp);
  ASSERT_FALSE(all.empty());
  const auto session = open(0, 1 << 20);
  const OpId op = add_op(*session);
  for (int step = 0; step < 10; ++step) run(*session, op, step, 256);
  EXPECT_EQ(records_seen.load(), 10U) << "written by the program's own thread";
  EXPECT_TRUE(session->close().ok());
}

TEST_F(ManySessions, ARingThatHoldsAllMemoryHoldsUpNoRecord) {
  SessionOptions options;
  options.spec = FakeParts::spec();
  options.spec.limits.pool_bytes = 64 << 10;
  options.spec.limits.ring_ops = 100;
  options.spec.where = "zero > 0";
  options.spec.out = folder_ + "/ring";
  options.layout = &layout_;
  const auto session = *CaptureSession::open(std::move(options));
  const OpId op = add_op(*session);
  for (int step = 1; step < 20; ++step) run(*session, op, step, 2048);  // 8 KiB each: the ring is full
  run(*session, op, 0, 2048);
  ASSERT_TRUE(session->flush().ok());
  EXPECT_GT(records_seen.load(), 1U) << "the record, and what the ring held";
  EXPECT_TRUE(session->close().ok());
}

TEST_F(ManySessions, EachOfTwentyLeavesAFileWhenTheProgramCrashes) {
  std::vector<std::unique_ptr<CaptureSession>> sessions;
  for (int number = 0; number < 20; ++number) sessions.push_back(open(number, 1 << 16, Trigger::kException));
  for (int number = 0; number < 20; ++number) {
    EXPECT_EQ(sessions[static_cast<size_t>(number)]->report().find("crashes leave nothing"), std::string::npos) << number;
    EXPECT_FALSE(std::filesystem::is_empty(concat(folder_, "/", number))) << "the file that a crash would fill";
  }
  for (const auto& session : sessions) EXPECT_TRUE(session->close().ok());
}

TEST_F(ManySessions, AForkedChildOpensItsOwn) {
  const auto session = open(0, 1 << 20);
  run(*session, add_op(*session), 1, 64);
  PoolAccount others(1 << 20);
  const PoolBuffer held = others.acquire(1 << 16, PoolAccount::WhenFull::kWait);
  // The writer thread rests then: the address sanitizer's allocator does not survive a fork while another thread is inside it.
  ASSERT_TRUE(session->flush().ok());
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const bool off = !session->is_on();
    // Without a thread, which the thread sanitizer does not allow here. Nobody else's buffers count against this pool.
    PoolAccount account(1 << 20);
    const bool all = !account.acquire(1 << 20, PoolAccount::WhenFull::kWait).empty();
    const auto own = open(1, 1 << 20);
    _exit(off && all && own->close().ok() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(session->is_on());
  EXPECT_TRUE(session->close().ok());
}

}  // namespace
}  // namespace tensortap
