#include "read/record_json.h"

#include <algorithm>

#include "stats/digest.h"

namespace tensortap {
namespace {

Json text_or_null(std::string_view text) {
  if (text.empty()) return nullptr;
  return std::string(text);
}

Json number_if(const RecordRow& row, Stat stat, double value) {
  if ((row.stats.valid & stat) == 0) return nullptr;
  return json_number(value);
}

Json count_if(const RecordRow& row, Stat stat, uint64_t value) {
  if ((row.stats.valid & stat) == 0) return nullptr;
  return value;
}

Json extreme(const RecordRow& row, Stat stat, double value, int64_t integer) {
  const DTypeKind kind = dtype_info(row.desc().dtype).kind;
  if ((row.stats.valid & stat) == 0 || row.stats.count == 0) return number_if(row, stat, value);
  if (kind == DTypeKind::kSigned) return integer;
  if (kind == DTypeKind::kUnsigned) return static_cast<uint64_t>(integer);
  return json_number(value);
}

Json shape_json(const RecordRow& row) {
  Json shape = Json::array();
  const TensorDesc desc = row.desc();
  for (const int64_t dimension : desc.shape.dims()) shape.push_back(dimension);
  return shape;
}

void add_statistics(const RecordRow& row, Json& json) {
  const TensorStats& stats = row.stats;
  json["min"] = extreme(row, kStatMin, stats.min, stats.min_integer);
  json["max"] = extreme(row, kStatMax, stats.max, stats.max_integer);
  json["mean"] = number_if(row, kStatMean, stats.mean);
  json["std"] = number_if(row, kStatStd, stats.std);
  json["l2"] = number_if(row, kStatL2, stats.l2);
  json["absmax"] = number_if(row, kStatAbsMax, stats.absmax);
  json["nan"] = count_if(row, kStatNan, stats.nan);
  json["pos_inf"] = count_if(row, kStatPosInf, stats.pos_inf);
  json["neg_inf"] = count_if(row, kStatNegInf, stats.neg_inf);
  json["zero"] = count_if(row, kStatZero, stats.zero);
}

Json hash_json(const RecordRow& row) {
  if (row.digest_kind > static_cast<uint8_t>(DigestKind::kSha1)) return nullptr;
  Digest digest;
  digest.kind = static_cast<DigestKind>(row.digest_kind);
  std::ranges::copy(row.digest, digest.bytes.begin());
  return text_or_null(digest_text(digest));
}

}  // namespace

Json record_json(const DumpIndex& dump, size_t row_number) {
  const RecordRow& row = dump.rows()[row_number];
  const OpInfo& op = op_of(dump, row);
  Json json;
  json["row"] = row_number;
  json["step"] = row.step;
  json["call"] = row.call;
  json["rank"] = row.rank;
  json["phase"] = phase_name(static_cast<Phase>(row.phase));
  if (row.moment == static_cast<uint8_t>(Moment::kBefore)) json["moment"] = moment_name(Moment::kBefore);
  json["op"] = op.name;
  json["type"] = op.type;
  json["slot"] = slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index);
  if (row.element >= 0) json["element"] = row.element;
  json["dtype"] = dtype_name(row.desc().dtype);
  json["shape"] = shape_json(row);
  json["numel"] = row.numel;
  add_statistics(row, json);
  if ((row.flags & kRecordUnwritten) != 0) json["unwritten"] = true;
  if ((row.flags & kRecordFailedOp) != 0) json["failed_op"] = true;
  if (row.storage != 0) {
    json["storage"] = row.storage;
    json["version"] = row.version;
  }
  json["hash"] = hash_json(row);
  json["file"] = text_or_null(dump.file(row_number));
  json["source"] = text_or_null(op.source_location);
  return json;
}

}  // namespace tensortap
