// CaptureSpec: what was asked, in one neutral form that every dialect translates into. Unresolved; see capture_plan.h for the bound form.

#ifndef TENSORTAP_PLAN_CAPTURE_SPEC_H_
#define TENSORTAP_PLAN_CAPTURE_SPEC_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json_fwd.h"
#include "base/status.h"

namespace tensortap {

// Steps as closed ranges of numbers from 0. Starts empty. Value type.
class StepSet {
 public:
  // "0,3-5,10-" or "0|3-5|10" or "all"; `separator` chooses one of the two forms, 0 takes either. Errors: kInvalidArgument with the part
  // that is wrong.
  static Result<StepSet> parse(std::string_view text, char separator = 0);
  static StepSet all();
  // A set with a step that never comes, for configs that may ask for nothing. An empty set would count as a mistake.
  static StepSet never();
  // Adds [first, last]; ignores steps below 0 and a range the wrong way round.
  void add(int64_t first, int64_t last);
  [[nodiscard]] bool contains(int64_t step) const;
  [[nodiscard]] bool is_all() const;
  [[nodiscard]] bool is_never() const;
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] int64_t first() const;  // the lowest step, -1 when empty
  // The step after which none follows, which lets a run stop early; the largest int64_t when open-ended, -1 when empty.
  [[nodiscard]] int64_t last() const;
  [[nodiscard]] std::string to_text() const;  // "0,3-5,10-", "all", "" when empty; parse() reads it back
  friend bool operator==(const StepSet&, const StepSet&) = default;

 private:
  struct Range {
    int64_t first;
    int64_t last;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::vector<Range> ranges_;  // sorted, disjoint, not touching
};

// A step as the dialects of AscendCL, TorchAir and msit write it: digits only; a number that is too large for a step is the largest but
// one.
bool parse_step(std::string_view text, int64_t& step);

// One way to pick ops. An op is picked by a list of selectors when any of them picks it.
struct OpSelector {
  enum class Kind : uint8_t {
    kName,           // exact name of the op, of an original node, or of an output value, or the scoped name (trace/scoped_name.h)
    kNamePrefix,     //
    kNameRegex,      // RE2, unanchored search over the op's name, its original nodes' names and its output values' names
    kType,           // exact type of the op or of an original node
    kTypeSubstring,  // ignoring case
    kOrderRange,     // from the op `text` to the op `text_end` in execution order, both included
    kModule,         // module path prefix, at a "." or "/" border
    kSource,         // "train.py:41"
    kId,             // "2,3_1" of the operation tree; with children when `children`
    kNameFullRegex,  // RE2 that matches the whole of one of the names that kName compares
    // Ignoring case, inside the type in the scoped name (for a graph input or weight its name) or an original node's type.
    kScopedType,
    kEvery,  // `text` "op": every op; "single": called by itself, outside every model; "root": inside no other of the operation tree
    kOperationType,  // ignoring case, the beginning of operation_type() (trace/operation_type.h)
  };
  Kind kind = Kind::kName;
  std::string text;
  std::string text_end;
  bool children = false;
  std::vector<std::string> of_types;  // and only ops of one of these types (exact, original types count too); empty = any type
  std::vector<uint32_t> input_slots;  // of an exclusion: only these slots are left out; both empty = the whole op
  std::vector<uint32_t> output_slots;
  std::string of_model;   // and only ops of the model of this name; "" = any model
  bool optional = false;  // picking nothing is a note, not an error
  std::string origin;     // where it was said ("--ops", "acl.json:4:7"), for messages
  friend bool operator==(const OpSelector&, const OpSelector&) = default;
};

enum class Payload : uint8_t { kDescription, kStatistics, kTensor, kFull };  // kFull = statistics and tensor
// kInBeforeOutAfter: inputs as they are before the op runs, outputs as it leaves them.
enum class MomentChoice : uint8_t { kAfter, kBefore, kBoth, kInBeforeOutAfter };
enum class Trigger : uint8_t { kAlways, kOverflow, kException, kWatch, kOnRequest };
// Which ops the trigger "overflow" keeps: those that make NaN or Inf of finite inputs, or all that have NaN or Inf in an output.
enum class OverflowOps : uint8_t { kMakers, kAll };
// How much a failing op leaves behind: its inputs; their types, shapes and the op's attributes too; registers and call stack too.
enum class ExceptionDetail : uint8_t { kBrief, kNorm, kDetail };
// How tensors in memory that the host cannot read are looked into. As copies: without waiting, but where a record would be lost; never
// waiting; always waiting. Or not at all. Or by the device, whose operators, or a kernel of ours, compute the statistics; the rest as with
// kHost.
enum class DeviceStats : uint8_t { kAuto, kHost, kWait, kOff, kOperators, kKernel };
constexpr bool measures_there(DeviceStats way) { return way == DeviceStats::kOperators || way == DeviceStats::kKernel; }
enum class FullPolicy : uint8_t { kBlock, kStatsOnly, kDrop };  // when the memory budget for tensors is full

struct Sampling {
  uint64_t elements = 0;  // > 0: look at only about this many elements of each tensor, evenly spread, for its statistics
  uint64_t head = 0;      // > 0: a tensor of more elements is reduced to its first `head` ones, as a tensor of one dimension
  friend bool operator==(const Sampling&, const Sampling&) = default;
};

struct Limits {
  // The defaults of keep_free: for tensors, and for rows and statistics, which are small.
  static constexpr uint64_t kFreeBesideData = uint64_t{2} << 30;
  static constexpr uint64_t kFreeBesideRows = uint64_t{64} << 20;

  uint64_t max_bytes = 0;             // of the dump, 0 = none
  std::optional<uint64_t> keep_free;  // bytes to leave free on the disk
  int64_t stop_after = -1;            // steps, -1 = none
  uint64_t max_records = 0;
  uint64_t max_triggers = 0;                  // ops that the trigger lets through, 0 = no limit
  uint64_t ring_ops = 0;                      // > 0: the tensors of the last ops, this many, are written when the trigger fires
  uint64_t pool_bytes = uint64_t{256} << 20;  // memory for copies that wait to be written
  [[nodiscard]] uint64_t free_beside_data() const { return keep_free.value_or(kFreeBesideData); }
  [[nodiscard]] uint64_t free_beside_rows() const { return keep_free.value_or(kFreeBesideRows); }
  friend bool operator==(const Limits&, const Limits&) = default;
};

struct Extras {
  bool weights = true;  // weights once at load
  bool graph_inputs = true;
  bool graphs = false;
  bool execution_order = false;
  bool attributes = false;
  bool constants = false;
  bool topology = false;
  bool read_inputs = false;  // the graph's inputs that a picked op reads, with it
  friend bool operator==(const Extras&, const Extras&) = default;
};

// A config that is read again while the program runs. From the next step on it decides which ops and steps are captured, and on which
// devices. Everything else stays as it was when the session was opened.
struct FollowedConfig {
  std::string path;  // "" = none; in the spec's dialect
  std::string over;  // JSON object whose members are laid over those of the file, "" = none
  friend bool operator==(const FollowedConfig&, const FollowedConfig&) = default;
};

struct CaptureSpec {
  std::vector<OpSelector> include;  // empty = every op
  std::vector<OpSelector> exclude;
  bool keep_for_readers = false;  // outputs that an exclusion of slots leaves out are kept for the picked ops that read them
  std::vector<uint64_t> devices;  // only processes on one of these capture (base/job_rank.h, job_device()); empty = all
  StepSet steps = StepSet::all();
  int64_t first_step = 0;  // number that the first step has
  std::string step_at;     // RE2: each call of a module whose path or class matches is a step; "" = the program's own steps
  bool inputs = false;     // slots
  bool outputs = true;
  MomentChoice moment = MomentChoice::kAfter;
  Payload payload = Payload::kStatistics;
  uint32_t stats = 0;                   // Stat bits, 0 = the full set
  std::string non_finite = "skip-nan";  // policy: "skip-nan", "propagate", "skip-nonfinite"
  std::string digest = "none";          // "none", "xxh3", "md5", "sha1"
  bool histogram = false;
  std::optional<int32_t> sketch_axis;  // sums by channel along this axis, from the last one where it is negative
  uint32_t sketch_block = 0;           // > 0: counts by blocks of so many elements of the last axis
  bool plain_order = true;             // puts tensors that a runtime holds in blocks back into the order of their dims
  std::vector<std::string> levels = {"op"};
  Trigger trigger = Trigger::kAlways;
  OverflowOps overflow_ops = OverflowOps::kMakers;
  // Under the trigger "watch": after each of these ops the outputs of the picked ops are looked at again; empty = after every op.
  std::vector<OpSelector> watchers;
  ExceptionDetail exception_detail = ExceptionDetail::kNorm;
  bool model_ops = true;   // ops that belong to a model
  bool single_ops = true;  // ops called by themselves, outside every model
  std::string where;       // condition on a record, "" = none (plan/where.h)
  Sampling sampling;
  Limits limits;
  Extras extras;
  DeviceStats device_stats = DeviceStats::kAuto;
  double budget = 0;  // most relative slow-down, 0.03 = 3 %; 0 = no governor
  FullPolicy full_policy = FullPolicy::kBlock;
  bool idle = false;  // nothing is captured yet; the session waits for another plan, which a session that is asked for nothing does not
  bool strict = false;
  FollowedConfig follow;

  std::string layout = "tap";
  std::string profile;               // "mindspore-2.10/cpu"
  std::string out;                   // folder; "" = tensortap_dump/TIME
  Access access = Access::kPrivate;  // who may use the dump's folders and files
  std::string dialect = "tensortap";
  std::map<std::string, std::string> layout_options;  // what only one layout understands
  std::vector<std::string> notes;                     // what reading the config had to say to people; not part of the JSON form
  [[nodiscard]] bool asks_for_sketch() const { return sketch_axis.has_value() || sketch_block != 0; }
  friend bool operator==(const CaptureSpec&, const CaptureSpec&) = default;
};

// The neutral form as JSON (docs/capture_config.md): the native dialect, and how the command line hands a spec to a source.
Json spec_to_json(const CaptureSpec& spec);
// Errors: kInvalidArgument "name:line:column: what" for unknown keys (with the nearest), wrong types and values out of range.
Result<CaptureSpec> spec_from_json(std::string_view text, std::string_view name);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_CAPTURE_SPEC_H_
