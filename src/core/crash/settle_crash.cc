#include "crash/settle_crash.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "crash/crash_file.h"
#include "crash/crash_session.h"
#include "stats/stats.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

constexpr size_t kMostLostNames = 20;
constexpr uint32_t kMostPlaces = 1U << 24;  // more ops than a session can have

// Writes one crash with the writer of its layout.
class CrashSettlement {
 public:
  CrashSettlement(const CrashFile& crash, LayoutWriter& writer, const CaptureSpec& spec)
      : crash_(crash),
        writer_(writer),
        layout_(writer.parts()),
        measures_(spec.payload == Payload::kStatistics || spec.payload == Payload::kFull) {
    statistics_.policy = policy_from_name(spec.non_finite).value_or(statistics_.policy);
    if (spec.stats != 0) statistics_.wanted = spec.stats;
  }

  Status write() {
    add_ops();
    // The ops of the ring ran before.
    for (const bool failed : {false, true}) {
      for (size_t i = 0; i < crash_.rows().size(); ++i) {
        if (((crash_.rows()[i].flags & kRecordFailedOp) != 0) == failed) TENSORTAP_RETURN_IF_ERROR(add_row(i));
      }
    }
    for (const auto& [step, run] : steps_) {
      if (layout_.steps != nullptr) TENSORTAP_RETURN_IF_ERROR(layout_.steps->end_step(step, run));
    }
    return writer_.flush();
  }

  SettledCrash take() {
    settled_.text = crash_.text();
    return std::move(settled_);
  }

 private:
  void add_ops() {
    uint32_t place = 0;
    for (const CrashFile::Op* op : crash_.known_ops()) {
      const OpInfo info = op->info();
      if (op->place > place && op->place < kMostPlaces) {
        if (layout_.decisions != nullptr) layout_.decisions->pass_over_ops(op->place - place);
        place = op->place;
      }
      if (!is_pseudo_op(info)) ++place;
      const auto id = static_cast<OpId>(names_.size());
      numbers_[op->op] = id;
      names_.push_back(op->name);
      // A failure to write files beside the tensors concerns no record.
      [[maybe_unused]] const Status status = writer_.add_op(id, info);
      OpDecision decision;
      decision.wanted = decision.inputs = decision.outputs = true;
      if (layout_.decisions != nullptr) layout_.decisions->op_decided(id, decision);
    }
  }

  Status add_row(size_t number) {
    RecordRow row = crash_.rows()[number];
    const auto known = numbers_.find(row.op);
    if (known == numbers_.end()) return lose(row, "?");
    row.op = known->second;
    row.committed = 0;
    steps_.emplace(row.step, row.run);
    const Result<RecordData> data = crash_.data(number);
    if (data.ok() && measures_) row.stats = compute_stats(data->view, statistics_);
    row.flags &= static_cast<uint8_t>(~kRecordHasData);
    const Status status = writer_.add_record(row, data.ok() ? &data->view : nullptr, nullptr);
    if (!status.ok() && status.code() != StatusCode::kUnsupported) return status;
    if (!status.ok() || !data.ok()) return lose(row, names_[row.op]);
    ++settled_.records;
    ++settled_.tensors;
    return {};
  }

  Status lose(const RecordRow& row, const std::string& op) {
    ++settled_.lost;
    if (settled_.lost_names.size() < kMostLostNames) settled_.lost_names.push_back(record_name(row, op));
    return {};
  }

  const CrashFile& crash_;
  LayoutWriter& writer_;
  const LayoutParts layout_;
  const bool measures_;
  StatsOptions statistics_;
  SettledCrash settled_;
  std::map<OpId, OpId> numbers_;
  std::vector<std::string> names_;
  std::set<std::pair<int64_t, uint64_t>> steps_;
};

// What the crash would be in a tree, without one.
SettledCrash foreseen(const CrashFile& crash) {
  SettledCrash settled;
  settled.text = crash.text();
  std::set<OpId> known;
  for (const CrashFile::Op* op : crash.known_ops()) known.insert(op->op);
  for (const RecordRow& row : crash.rows()) {
    const bool stays = (row.flags & kRecordHasData) != 0 && known.contains(row.op);
    ++(stays ? settled.tensors : settled.lost);
  }
  settled.records = settled.tensors;
  return settled;
}

// A crash leaves tensors and does not know the graph.
CaptureSpec spec_of_tree(CaptureSpec spec) {
  if (spec.payload == Payload::kStatistics) spec.payload = Payload::kFull;
  if (spec.payload == Payload::kDescription) spec.payload = Payload::kTensor;
  // The cause of a crash is worth more than a limit.
  spec.limits.max_bytes = 0;
  spec.extras.graphs = spec.extras.execution_order = spec.extras.constants = false;
  return spec;
}

Json manifest_of(const CrashFile& crash, const CrashSessionContent& session) {
  Json manifest = {{"layout", session.spec.layout}, {"program", session.info.program}, {"source", session.info.source}};
  manifest["rank"] = session.info.rank;
  manifest["records"] = crash.rows().size();
  crash.add_to_manifest(manifest);
  manifest["config"] = spec_to_json(session.spec);
  return manifest;
}

}  // namespace

Result<SettledCrash> settle_crash(const std::string& path, const Layout& layout, bool dry_run) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::unique_ptr<CrashFile> crash, CrashFile::read(path));
  if (crash->is_of_living_process()) return unsupported(concat(path, ": the program that wrote it is still running"));
  if (crash->session().empty()) return unsupported(concat(path, ": its version does not describe the session"));
  Result<CrashSessionContent> session = parse_crash_session(crash->session());
  if (!session.ok()) return session.status().with_context(path);
  if (dry_run) return foreseen(*crash);
  session->info.folder = parent_path(path);
  session->info.time_us = static_cast<uint64_t>(crash->time_us());
  session->info.failure = crash->text();
  const CaptureSpec spec = spec_of_tree(session->spec);
  TENSORTAP_ASSIGN_OR_RETURN(const std::unique_ptr<LayoutWriter> writer, layout.create(session->info, spec));
  CrashSettlement settlement(*crash, *writer, spec);
  const Status written = settlement.write();
  const Status finished = writer->finish(to_json_text(manifest_of(*crash, *session)));
  TENSORTAP_RETURN_IF_ERROR(written);
  TENSORTAP_RETURN_IF_ERROR(finished);
  if (::unlink(path.c_str()) != 0) return errno_status(path, errno);
  return settlement.take();
}

}  // namespace tensortap
