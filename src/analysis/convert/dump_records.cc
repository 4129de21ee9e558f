#include "convert/dump_records.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "convert/copied_documents.h"
#include "convert/kept_origin.h"
#include "convert/npy_values.h"
#include "read/restored_dump.h"
#include "stats/histogram.h"
#include "stats/stats.h"
#include "tree/asynchronous_tree.h"
#include "tree/folder_names.h"

namespace tensortap {
namespace {

// A text of the dump's own manifest; "" where it is none.
std::string manifest_text(const Json& manifest, const char* name) {
  const auto found = manifest.find(name);
  return found != manifest.end() && found->is_string() ? found->get<std::string>() : "";
}

Payload payload_of(const DumpIndex& dump) {
  bool data = false;
  bool statistics = false;
  for (const RecordRow& row : dump.rows()) {
    data = data || (row.flags & kRecordHasData) != 0;
    statistics = statistics || row.stats.valid != 0;
  }
  return data && statistics ? Payload::kFull : data ? Payload::kTensor : Payload::kStatistics;
}

std::string part_of_name(std::string_view text) {
  std::string part(text);
  std::ranges::replace_if(
      part, [](char c) { return c == '.' || c == ' ' || c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }, '_');
  return part.empty() ? "_" : part;
}

class DumpCopy {
 public:
  DumpCopy(const DumpIndex& dump, const Layout& layout, bool measures, ConvertReport& report)
      : dump_(dump), layout_(layout), measures_(measures), report_(report) {
    // An input of an op is a separate record, or the record of its maker.
    for (const RecordRow& row : dump_.rows()) {
      if (row.slot_kind == static_cast<uint8_t>(SlotKind::kInput)) has_inputs_.insert(row.op);
    }
  }

  // The rows with these numbers, which are in order, and all ops.
  Status write(LayoutWriter& writer, std::span<const size_t> rows, const ConvertProgress& progress) {
    writer_ = &writer;
    parts_ = writer.parts();
    // Other trees keep the attributes as text.
    if (const std::string_view bytes = dump_.attribute_bytes(); !bytes.empty() && parts_.documents != nullptr) {
      const Status kept = parts_.documents->add_attributes(bytes);
      if (kept.code() != StatusCode::kUnsupported) TENSORTAP_RETURN_IF_ERROR(kept);
    }
    if (layout_.keeps_arguments && parts_.documents != nullptr) {
      TENSORTAP_RETURN_IF_ERROR(copy_step_documents(dump_, *parts_.documents));
    }
    TENSORTAP_RETURN_IF_ERROR(add_ops());
    return add_rows(rows, progress);
  }

  // Stores beside the tree what the last written tree cannot store. The tree is complete without it.
  void keep_beside(const std::string& folder) {
    std::vector<std::vector<std::string>> files;
    if (parts_.file_names == nullptr) return;
    for (OpId id = 0; id < dump_.ops().size(); ++id) files.push_back(parts_.file_names->file_names_of(id));
    const bool own_names = std::ranges::all_of(files, [](const auto& names) { return names.empty(); });
    std::ranges::sort(kept_, {}, &KeptRecord::row);
    const Status kept = own_names ? unsupported("") : keep_origin(dump_, kept_, files, layout_.name, folder);
    if (!kept.ok()) report_.failed.insert(report_.failed.end(), beside_.begin(), beside_.end());
    if (own_names) return;
    if (without_file_ > 0) {
      report_.notes.push_back(concat(without_file_, " of ", kept_.size(),
                                     " records have values but no separate file in the tree, which has them as inputs of ops"));
    }
    if (!kept.ok()) {
      const auto unfiled = std::ranges::count_if(kept_, [](const KeptRecord& one) { return !one.filed; });
      const std::string gone = unfiled == 0 ? "" : concat(", and ", unfiled, " of ", kept_.size(), " records have no row in it");
      report_.notes.push_back(
          concat("names and statistics of this dump do not come back when the tree is read", gone, ": ", kept.message()));
    } else if (!beside_.empty()) {
      report_.notes.push_back(concat(beside_.size(), " of ", kept_.size(), " records have no values and no file in the tree; ",
                                     kOriginFolder, " keeps their descriptions and statistics"));
    }
  }

 private:
  Status add_ops() {
    const auto ops = dump_.ops();
    for (OpId id = 0; id < ops.size(); ++id) {
      TENSORTAP_RETURN_IF_ERROR(writer_->add_op(id, ops[id]));
      OpDecision decision;
      decision.wanted = decision.outputs = decision.weights = true;
      decision.inputs = layout_.copies_inputs && !has_inputs_.contains(id);
      if (parts_.decisions != nullptr) parts_.decisions->op_decided(id, decision);
    }
    return {};
  }

  Status add_rows(std::span<const size_t> numbers, const ConvertProgress& progress) {
    std::map<uint64_t, int64_t> steps;  // by run
    for (const size_t i : numbers) {
      if (progress) progress(done_++, dump_.rows().size());
      const RecordRow& row = dump_.rows()[i];
      if (row.op >= dump_.ops().size()) continue;
      const bool load = row.phase == static_cast<uint8_t>(Phase::kLoad);
      const auto [step, is_new] = steps.try_emplace(row.run, row.step);
      if (!load && step->second != row.step) {
        if (parts_.steps != nullptr) TENSORTAP_RETURN_IF_ERROR(note(i, parts_.steps->end_step(step->second, row.run)));
        step->second = row.step;
      }
      TENSORTAP_RETURN_IF_ERROR(add_row(i));
    }
    for (const auto& [run, step] : steps) {
      if (parts_.steps != nullptr) TENSORTAP_RETURN_IF_ERROR(parts_.steps->end_step(step, run));
    }
    return {};
  }

  // Failures of one record are reported; a full disk ends the copy.
  Status note(size_t i, const Status& status) {
    if (status.ok()) return {};
    const RecordRow& row = dump_.rows()[i];
    report_.failed.push_back({record_name(row, op_of(dump_, row).name), status.message()});
    return status.code() == StatusCode::kExhausted ? status : Status();
  }

  // The statistics of the values, unless they are all there, or the values are only a part of the tensor or have none.
  static void measure(const TensorView& values, RecordRow& row) {
    if (values.desc.shape.numel() != row.numel || (row.stats.valid & kStatFull) == kStatFull) return;
    const TensorStats stats = compute_stats(values, {});
    if (stats.valid != 0) row.stats = stats;
  }

  Status add_row(size_t i) {
    RecordRow row = dump_.rows()[i];
    const bool has_data = (row.flags & kRecordHasData) != 0;
    const Result<RecordData> data = has_data ? dump_.data(i) : Result<RecordData>(not_found("no values"));
    row.flags &= static_cast<uint8_t>(~(kRecordHasData | kRecordRaw));
    row.committed = 0;
    row.data_offset = row.data_bytes = row.member = row.histogram = 0;
    row.data_header = 0;
    if (has_data && !data.ok()) {
      row.flags |= kRecordDataLost;
      TENSORTAP_RETURN_IF_ERROR(note(i, data.status()));
    }
    if (measures_ && data.ok()) measure(data->view, row);
    kept_.push_back({i, row});
    // Nothing is a record for its readers alone where these get no inputs.
    if (!layout_.copies_inputs) row.flags &= static_cast<uint8_t>(~kRecordForReaders);
    copy_sketch(dump_, i, row, parts_);
    ExponentHistogram histogram;
    const bool has_histogram = histogram_of(dump_, i, histogram);
    const Status status = writer_->add_record(row, data.ok() ? &data->view : nullptr, has_histogram ? &histogram : nullptr);
    kept_.back().filed = row.committed != 0;
    // Its description and its statistics are kept beside the tree, and there is nothing else.
    const bool whole_beside = status.code() == StatusCode::kUnsupported && (!has_data || row.numel == 0);
    if (whole_beside) {
      beside_.push_back({record_name(row, op_of(dump_, row).name), status.message()});
    } else if (!status.ok()) {
      return note(i, status);
    }
    if (status.ok() && data.ok() && !kept_.back().filed) ++without_file_;
    if (!has_data || data.ok()) ++report_.sources;
    return {};
  }

  const DumpIndex& dump_;
  const Layout& layout_;
  bool measures_;
  ConvertReport& report_;
  LayoutWriter* writer_ = nullptr;
  LayoutParts parts_;
  std::set<OpId> has_inputs_;
  std::vector<KeptRecord> kept_;
  std::vector<ConvertFailure> beside_;  // records that the tree cannot store, which are whole beside it
  size_t without_file_ = 0;             // records with values
  size_t done_ = 0;
};

// The numbers of the rows of each rank. A layout of one rank has a column for it, and takes all rows at once.
std::map<int32_t, std::vector<size_t>> rows_by_rank(const DumpIndex& dump, const Layout& layout) {
  std::map<int32_t, std::vector<size_t>> ranks;
  const auto rows = dump.rows();
  for (size_t i = 0; i < rows.size(); ++i) ranks[layout.shares_folder ? std::max(rows[i].rank, 0) : 0].push_back(i);
  if (ranks.empty()) ranks[0];
  return ranks;
}

}  // namespace

Status copy_dump(const DumpIndex& dump, const std::string& source, const Layout& layout, const std::string& folder,
                 const ConvertProgress& progress, ConvertReport& report) {
  DumpInfo info;
  info.folder = folder;
  const Json manifest = manifest_json(dump);
  info.program = manifest_text(manifest, "program");
  if (info.program.empty()) info.program = file_name(source);
  info.source = manifest_text(manifest, "source");
  info.model = dump.model();
  info.timestamp = manifest_text(manifest, "timestamp");
  CaptureSpec spec;
  spec.layout = layout.name;
  spec.payload = payload_of(dump);
  // Other trees keep few statistics, some with few digits, or none: what keeps all gets them from the values.
  const bool measures = layout.keeps.stats == kStatAll && layout.keeps.digits == 0 && dump.layout() != layout.name;
  if (measures && spec.payload == Payload::kTensor) spec.payload = Payload::kFull;
  // A layout that keeps the moments of its records gets those that it wrote.
  if (dump.layout() == layout.name) spec.moment = MomentChoice::kBoth;
  spec.extras.graphs = spec.extras.execution_order = true;
  if (!is_time_folder(info.timestamp)) info.timestamp = time_folder_name();
  DumpCopy copy(dump, layout, measures, report);
  const auto ranks = rows_by_rank(dump, layout);
  const int32_t last = ranks.rbegin()->first;
  info.world_size = last == INT32_MAX ? last : last + 1;
  for (const auto& [rank, rows] : ranks) {
    info.rank = info.device = rank;
    TENSORTAP_ASSIGN_OR_RETURN(const auto writer, layout.create(info, spec));
    Status status = copy.write(*writer, rows, progress);
    if (status.ok() && rank == last) copy.keep_beside(folder);
    Status finished = writer->finish(manifest_of_copy(dump));
    report.bytes += writer->bytes_written();
    TENSORTAP_RETURN_IF_ERROR(status.ok() ? std::move(finished) : std::move(status));
  }
  return {};
}

void export_records(const DumpIndex& dump, const ConvertProgress& progress, TargetFolder& target, ConvertReport& report) {
  const auto rows = dump.rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (progress) progress(i, rows.size());
    const RecordRow& row = rows[i];
    if ((row.flags & kRecordHasData) == 0) continue;
    const OpInfo& op = op_of(dump, row);
    const char* word = row.slot_kind == static_cast<uint8_t>(SlotKind::kInput) ? ".input." : ".output.";
    const std::string name =
        concat(part_of_name(op.type), ".", part_of_name(op.name), ".", row.op, ".", row.thread, ".", i, word, row.slot_index);
    const Result<RecordData> data = dump.data(i);
    Status status = data.status();
    if (data.ok()) {
      status = target.write(to_text(row.step), name + ".npy", npy_bytes(data->view.desc),
                            [&](File& file) { return write_npy(file, data->view); });
    }
    if (status.ok()) {
      ++report.sources;
    } else {
      report.failed.push_back({record_name(row, op.name), status.message()});
    }
  }
}

}  // namespace tensortap
