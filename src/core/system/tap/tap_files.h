// The native layout's files and the names of tensors.npz's members. docs/layouts/tap.md is the authority.

#ifndef TENSORTAP_SYSTEM_TAP_TAP_FILES_H_
#define TENSORTAP_SYSTEM_TAP_TAP_FILES_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "layout/layout.h"
#include "trace/record_row.h"

namespace tensortap::tap {

inline constexpr std::string_view kRunFile = "run.json";
inline constexpr std::string_view kOpsFile = "ops.jsonl";
inline constexpr std::string_view kRecordsFile = "records.npy";
inline constexpr std::string_view kTensorsFile = "tensors.npz";
inline constexpr std::string_view kHistogramsFile = "histograms.npy";
inline constexpr std::string_view kLeftFile = "left.json";  // the counts of a ring that was removed; repair removes it
inline constexpr std::string_view kAttributesFile = kAttributesDocument;
inline constexpr uint64_t kHistogramNumbers = ExponentHistogram::kBins + 3;  // bins, zero, nan, inf
inline constexpr uint64_t kHistogramsBegin = 128;                            // of histograms.npy: the size of its header
std::string make_histograms_header(uint64_t rows);

inline constexpr std::string_view kSketchesFile = "sketches.npy";
inline constexpr std::string_view kChannelsFile = "sketch_channels.npy";
// A row of sketches.npy, byte for byte.
struct SketchRow {
  uint64_t sequence = 0;       // of the record
  uint64_t first_channel = 0;  // row of sketch_channels.npy
  uint64_t channels = 0;
  uint64_t channel_elements = 0;
  int32_t axis = -1;
  uint32_t block = 0;
  BlockCounts blocks;
};
static_assert(sizeof(SketchRow) == 2336);
inline constexpr uint64_t kSketchesBegin = 512;  // of both files: the size of the header
std::string make_sketches_header(uint64_t rows);
std::string make_channels_header(uint64_t rows);

// Name of a record's member, ".npy" included: the record's name with what a path must not hold percent-encoded, at most
// kLongestMemberName bytes of valid UTF-8, relative, without empty, "." and ".." parts. Names may still be equal for different records.
inline constexpr size_t kLongestMemberName = 1000;
std::string member_name(const RecordRow& row, std::string_view op_name);

// Functions of the layout's row.
Result<std::unique_ptr<LayoutWriter>> create_dump(const DumpInfo& info, const CaptureSpec& spec);
Confidence recognise_dump(const std::string& folder);
Result<std::unique_ptr<DumpIndex>> open_dump_folder(const std::string& folder);

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_TAP_FILES_H_
