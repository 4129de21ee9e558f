// What is known about an operator before it runs; the C++ owner of a tensortap_op.

#ifndef TENSORTAP_TRACE_OP_INFO_H_
#define TENSORTAP_TRACE_OP_INFO_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"

namespace tensortap {

using OpId = uint32_t;  // position in the table of ops
inline constexpr OpId kNoOp = 0xffffffffU;

enum class Level : uint8_t { kOp = 0, kKernel = 1, kModule = 2, kModel = 3, kApi = 4 };
enum class SlotKind : uint8_t { kOutput = 0, kInput = 1, kWeight = 2, kGradient = 3 };
enum class Phase : uint8_t { kInference = 0, kForward = 1, kBackward = 2, kUpdate = 3, kLoad = 4 };
enum class Moment : uint8_t { kAfter = 0, kBefore = 1 };

std::string_view phase_name(Phase phase);     // "inference", "forward", "backward", "update", "load"
std::string_view moment_name(Moment moment);  // "after", "before"
std::string_view level_name(Level level);

// Types of the pseudo-ops for a graph's inputs and weights.
inline constexpr std::string_view kInputType = "Input";
inline constexpr std::string_view kInitializerType = "Initializer";

struct OpInput {
  std::string name;       // of the value; "" = skipped
  OpId producer = kNoOp;  // who makes it, where known
  uint32_t producer_slot = 0;
};

// A node of the author's graph that an executed op implements.
struct OriginalNode {
  std::string name;
  std::string type;
};

// What a model does in a call, for sources that distinguish its calls. The numbers are those of enum tensortap_model_phase.
enum class ModelPhase : uint8_t { kNone = 0, kPrefill = 1, kDecode = 2, kTrain = 3, kWarmUp = 4 };
std::string_view model_phase_name(ModelPhase phase);  // "", "prefill", "decode", "train", "warm-up"; "" of a number that is none

struct OpInfo {
  std::string name;  // unique in its dump
  std::string type;
  std::string domain;
  std::string graph;  // path of the nested graph that holds it, "" for the main graph
  std::string module;
  std::string source_location;  // "train.py:41"
  std::string source_text;      // that line as it was when it ran, "" = not known
  std::vector<OriginalNode> originals;
  bool inserted_by_runtime = false;
  bool single = false;  // called by itself, outside every model
  Level level = Level::kOp;
  OpId parent = kNoOp;
  std::vector<OpInput> inputs;
  std::vector<std::string> outputs;
  std::string attributes;   // JSON object text, or ""
  std::string id;           // place in the tree of operations, "3_1" (plan/operation_tree.h); "" = none, or not known
  uint32_t occurrence = 0;  // which call within one call of the parent, from 0
  ModelPhase model_phase = ModelPhase::kNone;
};

// Keys of `attributes` for the purpose of an op, set by sources that know it.
inline constexpr std::string_view kSeesValue = "sees_value";             // true: passes a value to the program
inline constexpr std::string_view kIntendedInfinities = "intended_inf";  // true: it makes infinities on purpose, as for a mask
inline constexpr std::string_view kTestsValue = "tests_value";           // true: tests for NaN and Inf, so its inputs may contain them
inline constexpr std::string_view kSeesLoss = "sees_loss";               // true: an input of one element is the loss of a backward pass
inline constexpr std::string_view kHostFilled = "host_filled";           // true: its inputs are numbers that the program itself wrote
inline constexpr std::string_view kOverwrites = "overwrites";            // numbers of the inputs that it writes and does not read
inline constexpr std::string_view kParameters = "parameters";            // numbers of the inputs that are parameters of the model
inline constexpr std::string_view kForwardOp = "forward";                // name of the op whose gradient this one computes a part of
inline constexpr std::string_view kOnDevice = "on_device";               // "cuda:1", of its inputs: its durations are those of launches
inline constexpr std::string_view kPass = "pass";  // "backward" or "update", of an operator that such a pass runs by itself
// For the pseudo-op that looks at one op's outputs after another op ran (trigger "watch"): the names of the two.
inline constexpr std::string_view kWatcherOp = "watcher";
inline constexpr std::string_view kWatchedOp = "watched";
// An attribute as JSON; null when it is missing, or the attributes are no JSON object. Parses nothing where the text lacks the name.
Json attribute_json(const OpInfo& op, std::string_view name);
// Whether an attribute exists and is true.
bool attribute_is_set(const OpInfo& op, std::string_view name);
// Whether an attribute exists at all.
bool has_attribute(const OpInfo& op, std::string_view name);
// The slot numbers below 64 of a list, bit n for number n; 0 when the attribute is missing or not a list.
uint64_t attribute_slots(const OpInfo& op, std::string_view name);
// The text of an attribute; "" when it is missing or not a text.
std::string attribute_text(const OpInfo& op, std::string_view name);

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_OP_INFO_H_
