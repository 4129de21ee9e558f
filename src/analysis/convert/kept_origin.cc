#include "convert/kept_origin.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "convert/copied_documents.h"
#include "read/restored_dump.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

// Which of them, in their order, have no row in the tree.
Json unfiled_rows(std::span<const KeptRecord> records) {
  Json ranges = Json::array();
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].filed) continue;
    const size_t first = i;
    while (i < records.size() && !records[i].filed) ++i;
    ranges.push_back({first, i - first});
  }
  return ranges;
}

std::string origin_manifest(const DumpIndex& dump, std::span<const KeptRecord> records, std::span<const std::vector<std::string>> files,
                            std::string_view layout) {
  Result<Json> parsed = parse_json(manifest_of_copy(dump), "manifest");
  Json manifest = parsed.ok() && parsed->is_object() ? *std::move(parsed) : Json::object();
  Json names = Json::array();
  for (const std::vector<std::string>& of_op : files) names.push_back(of_op);
  manifest[kOriginTree] = {{"layout", layout}, {"files", std::move(names)}, {kUnfiledRows, unfiled_rows(records)}};
  return to_json_text(manifest);
}

Status write_records(const DumpIndex& dump, std::span<const KeptRecord> records, LayoutWriter& writer) {
  if (KeepsDocuments* documents = writer.parts().documents; documents != nullptr) {
    TENSORTAP_RETURN_IF_ERROR(copy_step_documents(dump, *documents));
  }
  for (OpId op = 0; op < dump.ops().size(); ++op) TENSORTAP_RETURN_IF_ERROR(writer.add_op(op, dump.ops()[op]));
  for (const auto& [number, content, filed] : records) {
    RecordRow row = content;
    ExponentHistogram histogram;
    const bool has_histogram = histogram_of(dump, number, histogram);
    // Lost here, until the tree gives them back.
    if ((dump.rows()[number].flags & (kRecordHasData | kRecordDataLost)) != 0) row.flags |= kRecordDataLost;
    copy_sketch(dump, number, row, writer.parts());
    TENSORTAP_RETURN_IF_ERROR(writer.add_record(row, nullptr, has_histogram ? &histogram : nullptr));
  }
  return {};
}

}  // namespace

std::string manifest_of_copy(const DumpIndex& dump) {
  const Completeness state = dump.completeness();
  if (state.holds_all()) return dump.manifest();
  Json manifest = manifest_json(dump);
  manifest[kIncompleteMember] = state.reasons;
  if (state.reasons.empty()) manifest[kIncompleteMember].push_back("the dump was copied while a program still wrote it");
  return to_json_text(manifest);
}

bool histogram_of(const DumpIndex& dump, size_t row, ExponentHistogram& histogram) {
  const std::vector<uint64_t> numbers = dump.histogram(row);
  if (numbers.size() != ExponentHistogram::kBins + 3) return false;
  std::copy_n(numbers.begin(), ExponentHistogram::kBins, histogram.bins);
  histogram.zero = numbers[ExponentHistogram::kBins];
  histogram.nan = numbers[ExponentHistogram::kBins + 1];
  histogram.inf = numbers[ExponentHistogram::kBins + 2];
  return true;
}

void copy_sketch(const DumpIndex& dump, size_t number, RecordRow& row, const LayoutParts& parts) {
  if (!has_sketch(static_cast<SketchState>(row.sketch))) return;
  const Result<TensorSketch> sketch = dump.sketch(number);
  if (!sketch.ok() || parts.sketches == nullptr || !parts.sketches->add_sketch(row, *sketch).ok())
    row.sketch = static_cast<uint8_t>(SketchState::kNotWritten);
}

Status keep_origin(const DumpIndex& dump, std::span<const KeptRecord> records, std::span<const std::vector<std::string>> files,
                   std::string_view layout, const std::string& folder) {
  const std::string path = join_path(folder, kOriginFolder);
  if (path_exists(path)) return unsupported(concat(path, " already exists, from an earlier conversion"));
  TENSORTAP_RETURN_IF_ERROR(make_directories(path));
  DumpInfo info;
  info.folder = path;
  CaptureSpec spec;
  spec.payload = Payload::kStatistics;
  TENSORTAP_ASSIGN_OR_RETURN(const auto writer, find_layout("tap")->create(info, spec));
  const Status written = write_records(dump, records, *writer);
  // Without its manifest, readers do not accept it as complete.
  const Status finished = writer->finish(written.ok() ? origin_manifest(dump, records, files, layout) : "{}");
  return written.ok() ? finished : written;
}

}  // namespace tensortap
