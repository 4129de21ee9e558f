// A program that dies of a signal inside an op leaves that op's inputs, and dies as it would have.  A11

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "read/repair_dump.h"
#include "toy_engine.h"

namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Ended {
  int status = 0;  // of waitpid()
  std::string said;
};

// Runs crash_signal_program; `config` null captures nothing.
Ended run_program(const json& config, int signal, const std::string& mode) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const std::string program = std::string(TENSORTAP_BUILD) + "/tests/crash_signal_program";
  const std::string text = config.is_null() ? "" : config.dump();
  const std::string number = std::to_string(signal);
  const pid_t child = fork();
  if (child == 0) {
    // One that hangs is an error, not a test without end.
    alarm(60);
    // A sanitizer's own handlers are not what is tested.
    setenv("ASAN_OPTIONS", "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:use_sigaltstack=0:detect_leaks=0",
           1);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl(program.c_str(), program.c_str(), text.c_str(), number.c_str(), mode.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  Ended ended;
  std::array<char, 256> piece{};
  for (ssize_t got = read(ends[0], piece.data(), piece.size()); got > 0; got = read(ends[0], piece.data(), piece.size())) {
    ended.said.append(piece.data(), static_cast<size_t>(got));
  }
  close(ends[0]);
  EXPECT_EQ(waitpid(child, &ended.status, 0), child);
  return ended;
}

json exception_config(const std::string& out, const char* detail = "norm") {
  return {{"trigger", "exception"}, {"exception_detail", detail}, {"out", out}, {"limits", {{"keep_free", 0}}}};
}

void expect_inputs_of_broken_op(const tensortap::DumpIndex& dump) {
  ASSERT_EQ(dump.rows().size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    const tensortap::RecordRow& row = dump.rows()[i];
    EXPECT_EQ(tensortap::op_of(dump, row).name, "broken");
    EXPECT_EQ(row.flags & tensortap::kRecordFailedOp, tensortap::kRecordFailedOp);
    EXPECT_EQ(row.slot_kind, static_cast<uint8_t>(tensortap::SlotKind::kInput));
    EXPECT_EQ(row.slot_index, i);
    EXPECT_EQ(row.step, 7);
    EXPECT_EQ(row.phase, static_cast<uint8_t>(tensortap::Phase::kForward));
    EXPECT_EQ(toy::floats_of(dump, i), i == 0 ? (std::vector<float>{1, 2, 3, 4}) : (std::vector<float>{4, 3, 2, 1}));
  }
}

std::string signal_text(int signal) { return std::string("SIG") + sigabbrev_np(signal); }

class CrashSignal : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, CrashSignal, testing::Values(SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT),
                         [](const auto& parameter) { return signal_text(parameter.param); });

TEST_P(CrashSignal, LeavesTheInputsAndEndsTheProgramAsItWouldHave) {
  for (const char* mode : {"fault", "raise", "before", "before-once", "after"}) {
    const toy::TempFolder folder;
    const std::string out = folder / "dump";
    const Ended plain = run_program(nullptr, GetParam(), mode);
    const Ended captured = run_program(exception_config(out), GetParam(), mode);
    ASSERT_TRUE(WIFSIGNALED(plain.status)) << mode;
    EXPECT_EQ(WTERMSIG(plain.status), GetParam()) << mode;
    EXPECT_EQ(captured.status, plain.status) << mode;
    EXPECT_EQ(captured.said, plain.said) << mode;
    const auto dump = toy::read_dump(out);
    ASSERT_NE(dump, nullptr);
    ASSERT_NO_FATAL_FAILURE(expect_inputs_of_broken_op(*dump)) << mode;
    const json manifest = json::parse(dump->manifest());
    EXPECT_EQ(manifest["failed_op"]["name"], "broken") << mode;
    EXPECT_EQ(manifest["failed_op"]["inputs"], (json{"broken:in0@7", "broken:in1@7"})) << mode;
    const std::string error = manifest["failed_op"]["error"];
    EXPECT_THAT(error, HasSubstr(signal_text(GetParam()))) << mode;
    EXPECT_THAT(error, HasSubstr("in op \"broken\" (Toy)")) << mode;
    EXPECT_EQ(manifest["crash"]["complete"], true) << mode;
    EXPECT_THAT(manifest["crash"]["registers"], json(nullptr)) << "only with detail";
  }
}

TEST_P(CrashSignal, ThatTheProgramLivesThroughLeavesNothing) {
  for (const char* mode : {"survive", "ignore", "jump"}) {
    const toy::TempFolder folder;
    const std::string out = folder / "dump";
    // A fault that is ignored ends the program, abort() always does.
    const Ended plain = run_program(nullptr, GetParam(), mode);
    const Ended captured = run_program(exception_config(out), GetParam(), mode);
    EXPECT_EQ(captured.status, plain.status) << mode;
    EXPECT_EQ(captured.said, plain.said) << mode;
    EXPECT_EQ(captured.status, 0) << mode;
    const auto dump = toy::read_dump(out);
    EXPECT_TRUE(dump->rows().empty()) << mode;
    EXPECT_TRUE(json::parse(dump->manifest())["complete"]) << mode;
    for (const auto& file : std::filesystem::directory_iterator(out)) {
      EXPECT_THAT(file.path().filename().string(), testing::Not(testing::StartsWith("crash-"))) << mode;
    }
  }
}

TEST(Crash, DetailHasRegistersAndTheStack) {
  const toy::TempFolder folder;
  const std::string out = folder / "dump";
  run_program(exception_config(out, "detail"), SIGSEGV, "fault");
  const auto dump = toy::read_dump(out);
  ASSERT_NO_FATAL_FAILURE(expect_inputs_of_broken_op(*dump));
  const json crash = json::parse(dump->manifest())["crash"];
  EXPECT_EQ(crash["signal"], "SIGSEGV");
  EXPECT_EQ(crash["address"], "0x0");
  ASSERT_TRUE(crash["stack"].is_array());
  bool in_program = false;
  for (const auto& frame : crash["stack"])
    in_program = in_program || frame["in"].get<std::string>().find("crash_signal_program+0x") != std::string::npos;
  EXPECT_TRUE(in_program) << crash["stack"];
#if defined(__x86_64__)
  EXPECT_TRUE(crash["registers"].contains("rip"));
#endif
}

TEST(Crash, UnderADamagedStackLeavesTheInputsWithoutTheStack) {
  const toy::TempFolder folder;
  const std::string out = folder / "dump";
  const Ended ended = run_program(exception_config(out, "detail"), SIGSEGV, "damaged");
  ASSERT_TRUE(WIFSIGNALED(ended.status));
  EXPECT_EQ(WTERMSIG(ended.status), SIGSEGV);
  const auto dump = toy::read_dump(out);
  ASSERT_NO_FATAL_FAILURE(expect_inputs_of_broken_op(*dump));
  const json crash = json::parse(dump->manifest())["crash"];
  EXPECT_EQ(crash["complete"], true) << "what came after the walk is missing";
  EXPECT_TRUE(crash["stack"].is_null() || crash["stack"].empty()) << crash["stack"];
}

// With SA_NODEFER the fault of the walk reaches a handler, without it the signal is blocked then.
TEST(Crash, UnderADamagedStackThatTheProgramLivesThroughLetsTheSessionClose) {
  for (const char* mode : {"damaged-jump", "damaged-jump-nodefer"}) {
    const toy::TempFolder folder;
    const std::string out = folder / "dump";
    const Ended ended = run_program(exception_config(out, "detail"), SIGSEGV, mode);
    EXPECT_EQ(ended.status, 0) << mode;
    EXPECT_EQ(ended.said, "alive") << mode;
    EXPECT_TRUE(json::parse(toy::read_dump(out)->manifest())["complete"]) << mode;
  }
}

// The handler's own file meets the limit: the program dies of its signal, not of another.
TEST(Crash, BeyondTheLimitForFilesEndsTheProgramAsItWouldHave) {
  for (const char* mode : {"limited", "limited-before"}) {
    const toy::TempFolder folder;
    const Ended plain = run_program(nullptr, SIGSEGV, mode);
    const Ended captured = run_program(exception_config(folder / "dump"), SIGSEGV, mode);
    EXPECT_EQ(captured.status, plain.status) << mode;
    EXPECT_EQ(captured.said, plain.said) << mode;
  }
}

// On the program's own other stack where it has one.
TEST(Crash, OfAFullStackIsRecordedOnAnotherStack) {
  for (const char* mode : {"overflow", "overflow-plain", "overflow-thread"}) {
    const toy::TempFolder folder;
    const std::string out = folder / "dump";
    const Ended ended = run_program(exception_config(out, "detail"), SIGSEGV, mode);
    ASSERT_TRUE(WIFSIGNALED(ended.status)) << mode;
    EXPECT_EQ(WTERMSIG(ended.status), SIGSEGV) << mode;
    ASSERT_NO_FATAL_FAILURE(expect_inputs_of_broken_op(*toy::read_dump(out))) << mode;
  }
}

TEST(Crash, MemoryThatIsGoneIsSkippedAndCounted) {
  const toy::TempFolder folder;
  const std::string out = folder / "dump";
  run_program(exception_config(out), SIGSEGV, "unmapped");
  const auto dump = toy::read_dump(out);
  ASSERT_EQ(dump->rows().size(), 2U);
  EXPECT_EQ(dump->rows()[0].flags & (tensortap::kRecordHasData | tensortap::kRecordDataLost), tensortap::kRecordDataLost);
  EXPECT_FALSE(dump->data(0).ok());
  EXPECT_EQ(toy::floats_of(*dump, 1), (std::vector<float>{4, 3, 2, 1}));
  EXPECT_EQ(json::parse(dump->manifest())["crash"]["skipped"], 1);
}

TEST(Crash, OfAForkedChildIsNotTheCaptures) {
  const toy::TempFolder folder;
  const std::string out = folder / "dump";
  const Ended ended = run_program(exception_config(out), SIGSEGV, "fork");
  EXPECT_EQ(ended.status, 0);
  EXPECT_TRUE(toy::read_dump(out)->rows().empty());
}

TEST(Crash, WritesTheRing) {
  const toy::TempFolder folder;
  const std::string out = folder / "dump";
  json config = exception_config(out);
  config["limits"]["ring_ops"] = 4;
  run_program(config, SIGABRT, "fault");
  const auto dump = toy::read_dump(out);
  std::vector<std::string> names;
  for (size_t i = 0; i < dump->rows().size(); ++i) {
    const auto& row = dump->rows()[i];
    const bool from_ring = (row.flags & tensortap::kRecordFromRing) != 0;
    names.push_back(tensortap::record_name(row, tensortap::op_of(*dump, row).name) + (from_ring ? "*" : ""));
    EXPECT_EQ(toy::floats_of(*dump, i).size(), 4U);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("broken:in0@7", "broken:in1@7", "first:out0@7*", "first:out1@7*"));
}

struct Tree {
  const char* layout;
  const char* file;  // of the first input in the tree, with '#' for each number
  int64_t step;      // as read from the file
};
constexpr std::array<Tree, 2> kTrees = {
    Tree{"ge", "extra-info/data-dump/#/Toy.broken.#.#", 0},
    Tree{"mindspore", "rank_#/Net/#/#/Toy.Default_broken_Toy-op#.#.#.#.input.#.DefaultFormat.Float#.npy", 7}};

std::string with_numbers_hidden(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || !text.ends_with('#')) text += digit ? '#' : c;
  }
  return text;
}

json tree_config(const std::string& out, const Tree& tree) {
  json config = exception_config(out);
  config["layout"] = tree.layout;
  config["payload"] = "tensor";
  return config;
}

bool has_crash_file(const std::string& folder) {
  return std::ranges::any_of(std::filesystem::recursive_directory_iterator(folder),
                             [](const auto& entry) { return entry.path().filename().string().starts_with("crash-"); });
}

void expect_inputs_in_tree(const tensortap::DumpIndex& dump, int64_t step) {
  ASSERT_EQ(dump.rows().size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_THAT(tensortap::op_of(dump, dump.rows()[i]).name, HasSubstr("broken"));
    EXPECT_EQ(dump.rows()[i].slot_kind, static_cast<uint8_t>(tensortap::SlotKind::kInput));
    EXPECT_EQ(dump.rows()[i].slot_index, i);
    EXPECT_EQ(dump.rows()[i].step, step);
    EXPECT_EQ(toy::floats_of(dump, i), i == 0 ? (std::vector<float>{1, 2, 3, 4}) : (std::vector<float>{4, 3, 2, 1}));
  }
}

// M11
TEST_P(CrashSignal, IsInEveryTreeBeforeAndAfterRepair) {
  for (const Tree& tree : kTrees) {
    const toy::TempFolder folder;
    const std::string out = folder / "dump";
    const Ended ended = run_program(tree_config(out, tree), GetParam(), "fault");
    ASSERT_TRUE(WIFSIGNALED(ended.status)) << tree.layout;
    const auto left = toy::read_dump(out);
    ASSERT_NE(left, nullptr);
    EXPECT_EQ(left->layout(), tree.layout);
    ASSERT_NO_FATAL_FAILURE(expect_inputs_of_broken_op(*left)) << tree.layout;
    EXPECT_THAT(left->problems(), testing::Contains(HasSubstr(signal_text(GetParam()) + " "))) << tree.layout;
    const auto foreseen = tensortap::repair_dump(out, true);
    ASSERT_TRUE(foreseen.ok()) << foreseen.status().message();
    EXPECT_TRUE(has_crash_file(out)) << tree.layout;
    const auto repaired = tensortap::repair_dump(out, false);
    ASSERT_TRUE(repaired.ok()) << repaired.status().message();
    EXPECT_FALSE(has_crash_file(out)) << tree.layout;
    EXPECT_EQ(repaired->tensors_kept, 2U) << tree.layout;
    EXPECT_EQ(foreseen->tensors_kept, repaired->tensors_kept) << tree.layout;
    const auto mended = toy::read_dump(out);
    ASSERT_NO_FATAL_FAILURE(expect_inputs_in_tree(*mended, tree.step)) << tree.layout;
    EXPECT_EQ(with_numbers_hidden(mended->file(0)), tree.file);
    EXPECT_EQ(json::parse(mended->manifest())["crash"]["signal"], signal_text(GetParam())) << tree.layout;
    EXPECT_EQ(json::parse(mended->manifest())["failed_op"]["name"], "broken") << tree.layout;
  }
}

// As a failing op's file has them: TASK is the op's place in the order of execution.
TEST(Crash, InTreesHasTheNamesThatAFailingOpHas) {
  const toy::TempFolder folder;
  const std::string out = folder / "dump";
  run_program(tree_config(out, kTrees[0]), SIGSEGV, "fault");
  ASSERT_TRUE(tensortap::repair_dump(out, false).ok());
  const auto dump = toy::read_dump(out);
  EXPECT_THAT(dump->file(0), testing::StartsWith("extra-info/data-dump/0/Toy.broken.1.20"));
}

TEST(Crash, InTreesWritesTheRingWhereItsOpsBelong) {
  const toy::TempFolder folder;
  const std::string out = folder / "dump";
  json config = tree_config(out, kTrees[0]);
  config["limits"]["ring_ops"] = 4;
  run_program(config, SIGABRT, "fault");
  const auto names_in = [&out] {
    const auto dump = toy::read_dump(out);
    std::vector<std::string> names;
    for (const auto& row : dump->rows()) names.push_back(tensortap::record_name(row, tensortap::op_of(*dump, row).name));
    return names;
  };
  EXPECT_THAT(names_in(), testing::UnorderedElementsAre("broken:in0@7", "broken:in1@7", "first:out0@7", "first:out1@7"));
  ASSERT_TRUE(tensortap::repair_dump(out, false).ok());
  EXPECT_THAT(names_in(), testing::UnorderedElementsAre("broken:in0", "broken:in1", "first:out0@7", "first:out1@7"));
}

TEST(Crash, InTreesInBriefFormTellsNoTypes) {
  const toy::TempFolder folder;
  const std::string out = folder / "dump";
  json config = tree_config(out, kTrees[0]);
  config["exception_detail"] = "brief";
  run_program(config, SIGBUS, "fault");
  ASSERT_TRUE(tensortap::repair_dump(out, false).ok());
  const auto dump = toy::read_dump(out);
  EXPECT_THAT(dump->file(0), testing::StartsWith("extra-info/data-dump/0/exception_info.0.1.20"));
  EXPECT_EQ(json::parse(dump->manifest())["failed_op"]["name"], "broken");
}

TEST(FailingOp, LeavesThreeDepths) {
  for (const char* detail : {"brief", "norm", "detail"}) {
    const toy::TempFolder folder;
    const toy::Opened opened = toy::open_session(exception_config("", detail), folder / "dump");
    ASSERT_EQ(opened.status, TENSORTAP_OK) << opened.message;
    tensortap_op op{};
    op.size = sizeof(op);
    op.name = op.type = "Softmax";
    op.attributes = R"({"axis": 1})";
    op.parent = TENSORTAP_NO_OP;
    const tensortap_op_id id = tensortap_register_op(opened.session, &op);
    const std::vector<float> values = {1, 2, 3};
    const toy::FloatTensor input(values, TENSORTAP_SLOT_INPUT);
    const tensortap_op_event event = toy::event_of(id, 0, &input.c, 1);
    tensortap_op_failed(opened.session, &event, "it broke");
    const json failed = toy::report_of(opened.session)["failed_op"];
    ASSERT_EQ(tensortap_session_close(opened.session), TENSORTAP_OK);
    EXPECT_EQ(toy::floats_of(*toy::read_dump(folder / "dump"), 0), (std::vector<float>{1, 2, 3})) << detail;
    const bool norm = std::string(detail) != "brief";
    EXPECT_EQ(failed.value("attributes", json()), norm ? json({{"axis", 1}}) : json()) << detail;
    const json tensors = json::array({{{"slot", "in0"}, {"dtype", "float32"}, {"shape", {3}}}});
    EXPECT_EQ(failed.value("tensors", json()), norm ? tensors : json()) << detail;
    const bool all = std::string(detail) == "detail";
    EXPECT_EQ(failed.contains("registers"), all) << detail;
    EXPECT_EQ(failed.value("stack", json::array()).empty(), !all) << detail;
  }
}

TEST(Crash, IsKeptByRepair) {
  const toy::TempFolder folder;
  const std::string out = folder / "dump";
  run_program(exception_config(out), SIGFPE, "fault");
  const auto repaired = tensortap::repair_dump(out, false);
  ASSERT_TRUE(repaired.ok()) << repaired.status().message();
  const auto dump = toy::read_dump(out);
  ASSERT_NO_FATAL_FAILURE(expect_inputs_of_broken_op(*dump));
  EXPECT_EQ(json::parse(dump->manifest())["crash"]["signal"], "SIGFPE");
  EXPECT_EQ(json::parse(dump->manifest())["failed_op"]["name"], "broken");
}

}  // namespace
