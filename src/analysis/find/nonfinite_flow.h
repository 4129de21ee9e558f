// Where NaN and Inf went, in a dump that knows who read what: to something that the program saw, or nowhere. Private to this folder.

#ifndef TENSORTAP_FIND_NONFINITE_FLOW_H_
#define TENSORTAP_FIND_NONFINITE_FLOW_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "find/nonfinite_counts.h"
#include "query/op_facts.h"
#include "query/record_lookup.h"
#include "trace/dump_index.h"

namespace tensortap {

// How a value that is not finite came to matter, what matters most first.
enum class Sight : uint8_t {
  kHost,       // the program read it: item(), or a comparison of it that was read
  kLoss,       // a backward pass began with it
  kFailure,    // an op that failed read it
  kParameter,  // it was written into a parameter
  kResult,     // the graph hands it out, or no captured op read it: it may be the program's result
  kSwallowed,  // an op made finite numbers of it, and neither bounds what it reads nor chooses among it
};
// "host", "loss", "failure", "parameter", "result", "swallowed"
std::string_view sight_name(Sight sight);

struct Sighting {
  size_t row = 0;  // of a record that holds NaN or Inf
  Sight sight = Sight::kResult;
  bool by_test = false;      // of kHost: the program read whether it is finite, or another comparison
  std::optional<size_t> by;  // of kSwallowed: an output of the op that made finite numbers of it
};

// Immutable; borrows what it is made of. Linear in the records. A dump that does not know who read what has no sightings.
class NonfiniteFlow {
 public:
  // `nonfinite`: for each row whether it holds NaN or Inf; `holding`: whether that is known.
  NonfiniteFlow(const DumpIndex& dump, const RecordLookup& lookup, const OpFactsTable& facts, const std::vector<bool>& nonfinite,
                const std::vector<Holding>& holding);

  // Whether the dump knows who read what: from memory, or from the whole graph.
  [[nodiscard]] bool knows_readers() const { return lookup_.knows_memory() || knows_graph_; }
  // Host, loss and failure in time order, then parameters, then results, then what was swallowed.
  [[nodiscard]] const std::vector<Sighting>& sightings() const { return sightings_; }
  // All rows of NaN or Inf that a sighting's row came from, itself among them.
  void mark_sources(const Sighting& sighting, std::vector<bool>& marked) const;
  // Whether gradients go to an optimizer, or to a check that may skip the optimizer's step. A gradient that is not finite then does no harm
  // by itself.
  [[nodiscard]] bool uses_gradients() const { return uses_gradients_; }
  // Whether the dump has such a check.
  [[nodiscard]] bool checks_gradients() const { return checks_gradients_; }
  // Whether the op behind an output only shows what it read, as a view does.
  [[nodiscard]] bool is_view(size_t output) const;
  // Whether an op computes with what this output holds, as with a parameter of the model.
  [[nodiscard]] bool is_read_as_parameter(size_t row) const;

 private:
  using Content = RecordLookup::Content;
  struct Answer {
    size_t row = 0;       // an input that holds NaN or Inf
    bool tested = false;  // an op told which elements are finite
  };
  struct Consumer {
    std::vector<size_t> bad;           // inputs that hold NaN or Inf
    std::vector<size_t> answers;       // inputs that are answers about such
    std::vector<size_t> outputs;       // all of them
    std::optional<Answer> told_apart;  // what its integers and booleans depend on
  };
  using Consumers = std::unordered_map<RecordLookup::Execution, Consumer, RecordLookup::Hash>;

  // Of dumps that know memory.
  void follow_memory(const std::vector<size_t>& order);
  void read(size_t row);
  void write(size_t row);
  void find_unread(const std::vector<size_t>& order);
  void find_unread_answers(const std::vector<size_t>& order);
  void find_parameters(const std::vector<size_t>& order);
  [[nodiscard]] bool uses(const RecordRow& input) const;
  // Of dumps that know the graph (nonfinite_graph.cc).
  void follow_graph(const std::vector<size_t>& order);
  [[nodiscard]] std::vector<bool> ops_to_look_at() const;
  void read_in_graph(size_t row);
  void give_to_parent(size_t row, const std::unordered_map<OpId, std::vector<size_t>>& outputs);
  void find_results(const std::vector<size_t>& order);

  void see(size_t row, Sight sight, bool by_test = false) { sightings_.push_back({row, sight, by_test, {}}); }
  void find_swallowed();
  [[nodiscard]] bool swallows(const Consumer& consumer) const;
  [[nodiscard]] size_t source_of(size_t input) const { return lookup_.writer_of(input).value_or(input); }
  [[nodiscard]] bool only_shows(const Consumer& consumer) const { return only_shows(consumer.bad, consumer.outputs); }
  [[nodiscard]] bool only_shows(const std::vector<size_t>& inputs, const std::vector<size_t>& outputs) const;
  [[nodiscard]] bool holds_answer(size_t output, const Consumer& consumer) const;

  const DumpIndex& dump_;
  const RecordLookup& lookup_;
  const OpFactsTable& facts_;
  const std::vector<bool>& nonfinite_;
  const std::vector<Holding>& holding_;
  bool knows_graph_ = false;
  Consumers consumers_;
  std::unordered_map<Content, Answer, RecordLookup::Hash> told_apart_;  // integers and booleans that came of NaN or Inf, and what is made
                                                                        // of these alone, as a share of right answers
  std::unordered_set<Content, RecordLookup::Hash> replaced_;            // contents that an op wrote over unread
  std::unordered_set<Content, RecordLookup::Hash> read_parameters_;     // contents that an op read as a parameter
  std::vector<Sighting> sightings_;
  bool uses_gradients_ = false;
  bool checks_gradients_ = false;
};

}  // namespace tensortap

#endif  // TENSORTAP_FIND_NONFINITE_FLOW_H_
