// Crash files that become files of a tree, and those that stay.

#include "crash/settle_crash.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "crash/crash_format.h"
#include "crash/crash_session.h"

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The calls that writers received, in order.
std::vector<std::string>& told() {
  static std::vector<std::string> calls;
  return calls;
}
StatusCode answer = StatusCode::kOk;

class ToldWriter : public LayoutWriter, public FollowsDecisions, public FollowsSteps {
 public:
  LayoutParts parts() override {
    LayoutParts own;
    own.decisions = this;
    own.steps = this;
    return own;
  }
  Status add_op(OpId id, const OpInfo& op) override {
    told().push_back(concat("op ", id, " ", op.name));
    return {};
  }
  void op_decided(OpId /*id*/, const OpDecision& /*decision*/) override {}
  void pass_over_ops(uint32_t count) override { told().push_back(concat("pass over ", count)); }
  [[nodiscard]] bool takes_statistics_on_any_thread() const override { return false; }
  Status end_step(int64_t step, uint64_t run) override {
    told().push_back(concat("end ", step, " ", run));
    return {};
  }
  Status add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* /*histogram*/) override {
    if (answer != StatusCode::kOk) return {answer, "as the test wants it"};
    float first = 0;
    std::memcpy(&first, data->data, sizeof(first));
    told().push_back(concat("record ", row.op, " ", first, " max ", row.stats.max));
    return {};
  }
  Status flush() override { return {}; }
  Status finish(std::string_view manifest) override {
    told().push_back(concat("finish ", manifest.substr(0, manifest.find(','))));
    return {};
  }
  [[nodiscard]] uint64_t bytes_written() const override { return 0; }
};

Result<std::unique_ptr<LayoutWriter>> create_told(const DumpInfo& info, const CaptureSpec& /*spec*/) {
  told().push_back(concat("create at ", info.time_us, " for ", info.failure));
  return std::unique_ptr<LayoutWriter>(new ToldWriter);
}

constexpr Layout kTold = {"told", "", create_told, nullptr, nullptr, nullptr, true, true};

template <class T>
void put_into(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_frame_into(std::string& text, CrashFrameKind kind, std::string content) {
  put_into(text, CrashFrame{kind, 0, content.size()});
  content.resize((content.size() + 7) / 8 * 8);
  text += content;
}

std::string op_content(uint32_t op, uint32_t place, uint32_t flags) {
  std::string content;
  put_into(content, CrashOp{op, 0, 7, 0, 0, 100, flags, 1, 3, 0});
  content += concat(static_cast<char>('a' + op), "Toy");
  put_into(content, CrashOpPlace{place, 1, 0, 0, 0, 0});
  return content;
}

std::string tensor_content(uint32_t op, uint8_t flags, float value) {
  CrashTensor tensor;
  tensor.row.op = op;
  tensor.row.step = 7;
  tensor.row.flags = flags;
  tensor.row.set_desc({DType::kFloat32, Shape{1}});
  tensor.bytes = sizeof(value);
  std::string content;
  put_into(content, tensor);
  put_into(content, value);
  return content;
}

// The number of a process that is gone.
uint32_t gone_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return static_cast<uint32_t>(child);
}

class SettleCrash : public testing::Test {
 protected:
  void SetUp() override {
    told().clear();
    answer = StatusCode::kOk;
  }

  // A crash in op 6, the fifth that runs, with a ring that holds op 3, the third.
  void write(uint32_t process, bool with_session = true) {
    CrashHeader header;
    header.signal = SIGSEGV;
    header.process = process;
    header.complete = 1;
    std::string text;
    put_into(text, header);
    CaptureSpec spec;
    spec.layout = "told";
    std::string session;
    put_into(session, CrashSession{1234});
    if (with_session) put_frame_into(text, CrashFrameKind::kSession, session + crash_session_text(DumpInfo(), spec));
    put_frame_into(text, CrashFrameKind::kOp, op_content(6, 4, kCrashedHere));
    put_frame_into(text, CrashFrameKind::kTensor, tensor_content(6, kRecordFailedOp, 2));
    put_frame_into(text, CrashFrameKind::kOp, op_content(3, 2, kCrashedTold));
    put_frame_into(text, CrashFrameKind::kTensor, tensor_content(3, kRecordFromRing, 1));
    put_frame_into(text, CrashFrameKind::kTensor, tensor_content(9, kRecordFromRing, 5));
    ASSERT_TRUE(write_file_atomically(path_, text).ok());
  }

  TemporaryFolder folder_;
  const std::string path_ = join_path(folder_.path(), "crash-1.bin");
};

TEST_F(SettleCrash, TellsTheWriterWhatASessionWouldHave) {
  write(gone_process());
  const auto settled = settle_crash(path_, kTold, false);
  ASSERT_TRUE(settled.ok()) << settled.status().message();
  const std::string what = "the program got SIGSEGV in op \"g\" (Toy)";
  EXPECT_EQ(settled->text, what);
  EXPECT_THAT(told(), ElementsAre("create at 1234 for " + what, "pass over 2", "op 0 d", "pass over 1", "op 1 g", "record 0 1 max 1",
                                  "record 1 2 max 2", "end 7 0", "finish {\"layout\":\"told\""));
  EXPECT_EQ(settled->tensors, 2U);
  EXPECT_EQ(settled->lost, 1U) << "of an op that the file does not describe";
  EXPECT_FALSE(path_exists(path_));
}

TEST_F(SettleCrash, LeavesTheFileOfAProgramThatIsThere) {
  write(static_cast<uint32_t>(getpid()));
  const auto settled = settle_crash(path_, kTold, false);
  EXPECT_EQ(settled.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(settled.status().message(), HasSubstr("is still running"));
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_TRUE(path_exists(path_));
}

TEST_F(SettleCrash, LeavesTheFileThatDoesNotTellItsSession) {
  write(gone_process(), false);
  EXPECT_EQ(settle_crash(path_, kTold, false).status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_TRUE(path_exists(path_));
}

TEST_F(SettleCrash, LeavesTheFileWhereTheTreeCanNotBeWritten) {
  write(gone_process());
  answer = StatusCode::kIo;
  EXPECT_EQ(settle_crash(path_, kTold, false).status().code(), StatusCode::kIo);
  EXPECT_TRUE(path_exists(path_));
}

TEST_F(SettleCrash, CountsWhatTheTreeHasNoPlaceFor) {
  write(gone_process());
  answer = StatusCode::kUnsupported;
  const auto settled = settle_crash(path_, kTold, false);
  ASSERT_TRUE(settled.ok()) << settled.status().message();
  EXPECT_EQ(settled->tensors, 0U);
  EXPECT_THAT(settled->lost_names, ElementsAre("d:out0@7", "?:out0@7", "g:out0@7"));
}

TEST_F(SettleCrash, OnlySaysWhatItWouldDo) {
  write(gone_process());
  const auto settled = settle_crash(path_, kTold, true);
  ASSERT_TRUE(settled.ok()) << settled.status().message();
  EXPECT_EQ(settled->tensors, 2U);
  EXPECT_EQ(settled->lost, 1U);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_TRUE(path_exists(path_));
}

}  // namespace
}  // namespace tensortap
