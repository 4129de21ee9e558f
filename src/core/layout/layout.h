// A layout: one directory tree, written live and read back. Each is a row of the table of its system,
// src/core/system/<name>/<name>_system.h.

#ifndef TENSORTAP_LAYOUT_LAYOUT_H_
#define TENSORTAP_LAYOUT_LAYOUT_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "layout/data_place.h"
#include "layout/layout_parts.h"
#include "plan/capture_spec.h"
#include "stats/histogram.h"
#include "trace/dump_index.h"
#include "trace/op_info.h"
#include "trace/record_row.h"

namespace tensortap {

// The path by which sources hand over what KeepsDocuments::add_attributes() keeps (asking.h).
inline constexpr std::string_view kAttributesDocument = "attributes.bin";

// Describes the dump that is about to be written.
struct DumpInfo {
  std::string folder;  // exists, and is empty unless the layout shares folders
  std::string program;
  std::string source;  // "onnxruntime 1.31.1"
  int32_t rank = 0;
  int32_t world_size = 1;
  std::string model;      // "" = none
  uint32_t model_id = 0;  // from 1, 0 = unknown
  int32_t device = 0;
  std::string timestamp;  // YYYYmmddHHMMSS at which capture was asked for
  uint64_t time_us = 0;   // since 1970, the date of everything that is written; 0 = now
  std::string failure;    // what ended the program, if the dump is made from a crash file
  int64_t process = 0;    // number of the process whose dump it is, 0 = this one
  uint32_t threads = 0;   // of the runtime for one op, 0 = not known
  bool kernels = false;   // whether ops of the level kernel are distinguished from ops
};

// Writes one dump. Created in an existing, empty folder. These functions are all that a tree of one file for each record needs.
class LayoutWriter {
 public:
  virtual ~LayoutWriter() = default;
  LayoutWriter(const LayoutWriter&) = delete;
  LayoutWriter& operator=(const LayoutWriter&) = delete;

  // What it can do besides. The same at every call.
  [[nodiscard]] virtual LayoutParts parts() { return {}; }

  // Ops are added before any record of theirs, in the order of their ids, one at a time. Called under the session's registration lock.
  // A layout that cannot write one now keeps it, tries again with the next call or flush(), and returns the failure: the op counts as
  // added. Where "max_bytes" leaves no room for it (DumpRoom::is_no_room), its records get the same answer.
  virtual Status add_op(OpId id, const OpInfo& op) = 0;

  // Whether add_record() may be called from any thread at once for records without data. True lets the session skip the
  // writer thread for statistics.
  [[nodiscard]] virtual bool takes_statistics_on_any_thread() const = 0;

  // Adds one record. `data` is null for statistics only, otherwise packed, contiguous, and borrowed for the call. `histogram` may be null.
  // Records with data come from one thread at a time. A layout that would overwrite an earlier record's file keeps the earlier one and
  // returns kUnsupported; the session counts it as a collision. After kIo or kExhausted the layout is still usable: nothing of the failed
  // record is left behind, and the next one may be tried. The same holds after an error that DumpRoom::is_no_room() recognises: the record
  // does not fit into "max_bytes".
  // On success the layout has filled in `row` (data_offset, member, committed). `committed` is 0 if the dump cannot store the record, also
  // after kUnsupported. It is 1 after kUnsupported if the dump contains the record's statistics but not its values.
  virtual Status add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* histogram) = 0;

  // Writes what was buffered, so that a reader sees it.
  virtual Status flush() = 0;

  // Ends the dump. `manifest` is the JSON text of run.json. Called once, last; also after errors.
  virtual Status finish(std::string_view manifest) = 0;

  // Bytes written so far.
  [[nodiscard]] virtual uint64_t bytes_written() const = 0;

 protected:
  LayoutWriter() = default;
};

// What repairing a dump found and did (or would do).
struct RepairReport {
  bool healthy = false;  // nothing is wrong and nothing was touched
  uint64_t records_kept = 0;
  uint64_t records_lost = 0;  // rows that were begun and never completed, or that are gone from the end of the file
  uint64_t tensors_kept = 0;
  uint64_t tensors_lost = 0;         // of records that are kept with their statistics
  uint64_t tensors_on_the_way = 0;   // of these: values that were captured but not yet written when the program died
  uint64_t counted_losses = 0;       // losses that the program itself had counted before it died
  std::vector<std::string> lost;     // names of the first of these, and what else is lost for good
  std::vector<std::string> missing;  // what the dump lacks for good, whether this repair dropped it or an earlier one; sentences
  std::vector<std::string> actions;  // what was repaired, one sentence each
};

enum class Confidence : uint8_t { kNo, kMaybe, kCertain };

// One key of CaptureSpec::layout_options that a layout reads.
struct LayoutOption {
  std::string_view name;
  std::string_view values;         // for people: `"files" or "none"`
  std::string_view default_value;  // "" = see `meaning`
  std::string_view meaning;        // one sentence
  // Errors: kInvalidArgument saying which values are valid. Null: any text is valid.
  Status (*check)(std::string_view value) = nullptr;
};

// The members of Extras that ask for separate files. A layout lists those that it writes.
enum class ExtraFile : uint8_t { kGraphs = 1, kExecutionOrder = 2, kAttributes = 4, kConstants = 8, kTopology = 16 };

constexpr uint8_t extra_files(std::initializer_list<ExtraFile> files) {
  uint8_t set = 0;
  for (const ExtraFile file : files) set |= static_cast<uint8_t>(file);
  return set;
}

// The parts of a dump that a reader gets back. The tree of another system keeps only what that system keeps.
struct Keeps {
  // Whether a tensor of this type keeps its data; null: of every type except strings. Other types are rejected, or come back as a wider
  // type.
  bool (*dtype)(DType dtype) = nullptr;
  bool empty_tensors = true;  // tensors without elements
  bool scalars = true;        // tensors without dimensions as such; false: as vectors of one element
  uint32_t stats = kStatAll;  // Stat bits of the statistics that its options keep if nothing is said
  int digits = 0;             // of statistics that are no counts, 0 = all
  bool histogram = true;
  bool sketches = false;
  bool names = true;    // of ops, whatever characters they have
  bool threads = true;  // and, for each record, how often its op had run
};

// One row of the registry: plain functions, so that the table is constant data.
struct Layout {
  std::string_view name;
  std::string_view description;
  // Null for a layout that is read only.
  Result<std::unique_ptr<LayoutWriter>> (*create)(const DumpInfo& info, const CaptureSpec& spec);
  // Looks at the names in a folder, opens little.
  Confidence (*recognise)(const std::string& folder);
  Result<std::unique_ptr<DumpIndex>> (*open)(const std::string& folder);
  // Keeps what is complete in a dump whose program died, so that open() and other readers take it as whole. Touches nothing when `dry_run`
  // or when the dump is healthy. Null when the layout cannot.
  Result<RepairReport> (*repair)(const std::string& folder, bool dry_run);
  // Whether it writes into a folder that may hold earlier dumps or those of other ranks, in folders and under names that do not clash.
  bool shares_folder = false;
  // Whether crash files become files of the tree (crash/settle_crash.h). False: they stay as they are, and open() adds their tensors to
  // the records.
  bool settles_crashes = false;
  // Everything in CaptureSpec that only some layouts understand. check_target() of the registry refuses the rest.
  std::span<const LayoutOption> options = {};
  uint8_t extras = 0;         // extra_files() that it writes
  bool has_profiles = false;  // whether CaptureSpec::profile chooses between releases
  Keeps keeps = {};
  bool takes_plan_changes = false;  // whether a dump can go on under another plan (CaptureSession::replace_plan)
  bool keeps_arguments = false;     // whether it takes kStepDocuments (trace/step_documents.h)
  bool tells_calls_apart = false;   // whether each call is a separate op (TENSORTAP_IDENTITY_CALL)
  bool copies_inputs = false;       // whether a converted dump takes an op's inputs from the records of their producers
};

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_LAYOUT_H_
