// Compares what every layout writes, for every release and payload that it knows, with tests/written_trees.txt: names, modes and content of
// all files. A refactoring must not change a byte of it. For an intended change, take the new list, which a failing test leaves beside its
// dumps and names.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "registry/registry.h"
#include "stats/digest.h"
#include "stats/stats.h"

namespace {

using namespace tensortap;

constexpr uint64_t kTimeUs = 1767323045000000;  // 2026-01-02 03:04:05 UTC
constexpr size_t kHashBegin = 5;                // behind "xxh3:"
constexpr size_t kHashDigits = 16;
constexpr size_t kMostOfMessage = 120;
constexpr const char* kRecorded = TENSORTAP_TESTDATA "/written_trees.txt";

// One dump to write.
struct Case {
  std::string name;
  std::string_view layout;
  CaptureSpec spec;
};

std::vector<std::string> releases_of(std::string_view layout) {
  if (layout != "mindspore") return {""};
  std::vector<std::string> releases;
  for (const char* version : {"2.0", "2.2.15", "2.3.0", "2.3.2", "2.4", "2.7.0", "2.10"}) {
    for (const char* device : {"cpu", "gpu", "ascend"}) releases.push_back(concat("mindspore-", version, "/", device));
  }
  return releases;
}

constexpr std::pair<const char*, Payload> kPayloads[] = {
    {"tensor", Payload::kTensor}, {"statistics", Payload::kStatistics}, {"full", Payload::kFull}, {"description", Payload::kDescription}};

CaptureSpec spec_of(const Layout& layout, Payload payload) {
  CaptureSpec spec;
  spec.layout = layout.name;
  spec.payload = payload;
  spec.inputs = spec.outputs = true;
  spec.extras.graphs = (layout.extras & extra_files({ExtraFile::kGraphs})) != 0;
  spec.extras.execution_order = (layout.extras & extra_files({ExtraFile::kExecutionOrder})) != 0;
  spec.extras.attributes = (layout.extras & extra_files({ExtraFile::kAttributes})) != 0;
  spec.extras.constants = (layout.extras & extra_files({ExtraFile::kConstants})) != 0;
  return spec;
}

// Every release with every payload, and every documented value of every option with what a layout keeps by default.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Layout& layout : layouts()) {
    if (layout.create == nullptr) continue;
    for (const std::string& release : releases_of(layout.name)) {
      for (const auto& [word, payload] : kPayloads) {
        Case one{concat(layout.name, " ", release.empty() ? "" : concat(release, " "), word), layout.name, spec_of(layout, payload)};
        one.spec.profile = release;
        all.push_back(std::move(one));
      }
    }
    Case shared{concat(layout.name, " shared"), layout.name, spec_of(layout, Payload::kFull)};
    shared.spec.access = Access::kShared;
    all.push_back(std::move(shared));
  }
  const std::pair<const char*, const char*> options[] = {{"scene", "overflow"},  {"scene", "exception"},
                                                         {"scene", "watcher"},   {"portable_names", "true"},
                                                         {"weights", "none"},    {"stats_columns", "L2norm,Max"},
                                                         {"net_name", "Resnet"}, {"statistic_category", "md5,max,avg"},
                                                         {"links", "true"},      {"tree_form", "ge"},
                                                         {"tree_form", "step"},  {"tree_form", "ops"},
                                                         {"tree_form", "rank"},  {"scoped_names", "true"}};
  for (const auto& [key, value] : options) {
    for (const Layout& layout : layouts()) {
      if (std::ranges::find(layout.options, key, &LayoutOption::name) == layout.options.end()) continue;
      Case one{concat(layout.name, " ", key, "=", value), layout.name, spec_of(layout, Payload::kFull)};
      one.spec.layout_options[key] = value;
      // Only folders of ranks can store these.
      if (key == std::string_view("tree_form") && value != std::string_view("rank")) one.spec.extras = {};
      all.push_back(std::move(one));
    }
  }
  return all;
}

// A net whose names, types and shapes are those that trees treat differently.
class Net {
 public:
  explicit Net(LayoutWriter& writer) : writer_(writer) {
    add("x", "Input", {}, 1);
    add("w", "Initializer", {}, 1);
    add("encoder/layer.0/MatMul", "MatMul", {{"x", 0, 0}, {"w", 1, 0}}, 1);
    add("encoder/layer.0/Split_1", "Split", {{"m", 2, 0}}, 2);
    add(std::string(300, 'n'), "Cast", {{"s", 3, 0}}, 1);
    add("net/block@0:root", "Where", {{"c", 4, 0}, {"s", 3, 1}}, 1);
    add("Größe #2", "FFT", {}, 1);
    add("conv.1", "Conv", {{"x", 0, 0}}, 1);
  }

  void run(int64_t step, bool fails) {
    record(0, 0, DType::kFloat32, {2, 3}, step);
    if (step == 0) record(1, 0, DType::kFloat32, {3, 4}, step, Phase::kLoad);
    record(2, 0, DType::kFloat32, {2, 4}, step);
    record(3, 0, DType::kFloat16, {2, 2}, step);
    record(3, 1, DType::kBFloat16, {2, 2}, step);
    record(4, 0, DType::kInt64, Shape(), step);
    record(5, 0, DType::kBool, {5}, step);
    record(6, 0, DType::kComplex64, {0, 2}, step);
    record(7, 0, DType::kUInt8, {1, 2, 2, 2, 4}, step, Phase::kInference, kRecordBlocked);
    record(2, 0, DType::kFloat32, {2, 4}, step);
    if (fails) record(5, 0, DType::kInt64, {2}, step, Phase::kInference, kRecordFailedOp, SlotKind::kInput);
    if (FollowsSteps* steps = writer_.parts().steps; steps != nullptr) note(steps->end_step(step, 0));
  }
  // How many records were refused, by the answer.
  [[nodiscard]] const std::map<std::string, int>& refused() const { return refused_; }

 private:
  void add(std::string name, std::string type, std::vector<OpInput> inputs, size_t outputs) {
    OpInfo op;
    op.name = std::move(name);
    op.type = std::move(type);
    op.inputs = std::move(inputs);
    op.attributes = R"({"axis": 1})";
    for (size_t i = 0; i < outputs; ++i) op.outputs.push_back(concat(op.name, ":", i));
    note(writer_.add_op(next_, op));
    OpDecision decision;
    decision.wanted = decision.inputs = decision.outputs = true;
    if (FollowsDecisions* decisions = writer_.parts().decisions; decisions != nullptr) decisions->op_decided(next_, decision);
    ++next_;
  }
  void record(OpId op, uint16_t slot, DType dtype, const Shape& shape, int64_t step, Phase phase = Phase::kInference, uint8_t flags = 0,
              SlotKind kind = SlotKind::kOutput) {
    RecordRow row;
    row.sequence = sequence_++;
    row.time_ns = static_cast<int64_t>(row.sequence) * 1000;
    row.duration_ns = 500;
    row.op = op;
    row.step = step;
    row.call = calls_[{op, slot, step}]++;
    row.slot_index = slot;
    row.slot_kind = static_cast<uint8_t>(kind);
    row.phase = static_cast<uint8_t>(phase);
    row.flags = flags;
    row.set_desc({dtype, shape});
    values_.resize(std::max<size_t>(values_.size(), row.bytes + 16));
    for (size_t i = 0; i < values_.size(); ++i)
      values_[i] = static_cast<std::byte>((i * 31 + op * 7 + static_cast<size_t>(step)) % (dtype == DType::kBool ? 2 : 255));
    const TensorView view{row.desc(), values_.data(), nullptr};
    row.stats = compute_stats_reference(view, {});
    note(writer_.add_record(row, keeps_values ? &view : nullptr, nullptr));
  }
  void note(const Status& status) {
    if (!status.ok()) ++refused_[status.message().substr(0, kMostOfMessage)];
  }

 public:
  bool keeps_values = true;

 private:
  LayoutWriter& writer_;
  OpId next_ = 0;
  uint64_t sequence_ = 0;
  std::vector<std::byte> values_;
  std::map<std::tuple<OpId, uint16_t, int64_t>, uint32_t> calls_;
  std::map<std::string, int> refused_;
};

std::string hash_of(std::string_view content) {
  TensorView view{{DType::kUInt8, {static_cast<int64_t>(content.size())}}, content.data(), nullptr};
  return digest_text(compute_digest(view, DigestKind::kXxh3)).substr(kHashBegin, kHashDigits);
}

// Drawn file names, mapped to hashes of the real names that mapping.csv lists.
std::map<std::string, std::string> drawn_names(const std::string& root) {
  std::map<std::string, std::string> drawn;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "mapping.csv") continue;
    const auto text = read_file(entry.path().string());
    if (!text.ok()) continue;
    for (const std::string_view line : split(*text, '\n')) {
      if (line.empty()) continue;
      const std::string stored(line.substr(0, line.find(',')));
      drawn.emplace(stored, concat("DRAWN_", hash_of(line.substr(line.find(',') + 1))));
    }
  }
  return drawn;
}

std::string masked(std::string text, const std::map<std::string, std::string>& drawn) {
  for (const auto& [name, stands_for] : drawn) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + stands_for.size()))
      text.replace(at, name.size(), stands_for);
  }
  return text;
}

// "name mode hash" of everything below a folder.
std::vector<std::string> listing(const std::string& root) {
  auto drawn = drawn_names(root);
  drawn[root] = "DUMP";
  std::vector<std::string> lines;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string path = entry.path().string();
    struct stat facts {};
    EXPECT_EQ(::lstat(path.c_str(), &facts), 0);
    std::string kind = "folder";
    if (entry.is_symlink()) {
      kind = concat("link to ", std::filesystem::read_symlink(path).string());
    } else if (entry.is_regular_file()) {
      const auto text = read_file(path);
      EXPECT_TRUE(text.ok());
      kind = hash_of(masked(text.ok() ? *text : "", drawn));
    }
    char mode[8];
    std::snprintf(mode, sizeof(mode), "%04o", facts.st_mode & 07777U);
    lines.push_back(concat("  ", masked(path.substr(root.size() + 1), drawn), " ", mode, " ", kind));
  }
  std::ranges::sort(lines);
  return lines;
}

// The outcome of one dump: a line for each file, and for each refusal.
std::string write_case(const Case& one) {
  const TemporaryFolder folder;
  DumpInfo info;
  info.folder = join_path(folder.path(), "dump");
  std::filesystem::create_directory(info.folder);
  info.program = "program";
  info.source = "toy 1.0";
  info.model = "net.v1";
  info.model_id = 3;
  info.timestamp = "20260102030405";
  info.time_us = kTimeUs;
  info.failure = "it failed";
  info.process = 4711;
  const Layout& layout = *find_layout(one.layout);
  std::string text;
  auto writer = layout.create(info, one.spec);
  if (!writer.ok()) return text + concat("  refused: ", writer.status().message(), "\n");
  Net net(**writer);
  net.keeps_values = one.spec.payload == Payload::kTensor || one.spec.payload == Payload::kFull || (*writer)->parts().wants_values;
  for (int64_t step = 0; step < 2; ++step) net.run(step, one.name.find("scene=") != std::string::npos);
  const Status finished = (*writer)->finish("{}");
  writer->reset();
  for (const auto& [message, count] : net.refused()) text += concat("  ", count, " x ", message, "\n");
  if (!finished.ok()) text += concat("  finish: ", finished.message(), "\n");
  for (const std::string& line : listing(info.folder)) text += line + "\n";
  return text;
}

TEST(WrittenTrees, AreWhatWasRecorded) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  ::umask(022);
  std::string written;
  std::map<std::string, std::string> first;  // the case that wrote this
  for (const Case& one : cases()) {
    const std::string tree = write_case(one);
    const auto [known, is_new] = first.emplace(tree, one.name);
    written += is_new ? concat(one.name, "\n", tree) : concat(one.name, "\n  as ", known->second, "\n");
  }
  const auto recorded = read_file(kRecorded);
  if (recorded.ok() && *recorded == written) return;
  const std::string place = testing::TempDir() + "written_trees.txt";
  ASSERT_TRUE(write_file_atomically(place, written, Access::kShared).ok());
  FAIL() << "what is written differs from " << kRecorded << "; what is written now: " << place;
}

}  // namespace
