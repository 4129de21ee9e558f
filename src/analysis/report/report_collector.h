// ReportCollector: asks the server for what the page would ask for, and keeps what fits.

#ifndef TENSORTAP_REPORT_REPORT_COLLECTOR_H_
#define TENSORTAP_REPORT_REPORT_COLLECTOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "report/page_target.h"
#include "report/report_answers.h"

namespace tensortap {

// The condition by which the page asks for records that are not finite.
inline constexpr std::string_view kNotFinite = "nan > 0 or pos_inf > 0 or neg_inf > 0";

// What the page knows of one of the two dumps.
struct ReportedDump {
  std::string side;  // "" or "b", as the parameter `dump` has it
  std::string name;
  uint64_t ops = 0;
  uint64_t records = 0;
  bool has_data = true;  // some record has its values, not statistics alone
  std::vector<int64_t> steps;
  Json rows = Json::array();     // of its table
  std::vector<bool> chosen_ops;  // empty = all
  [[nodiscard]] bool is_chosen(uint64_t op) const { return chosen_ops.empty() || (op < chosen_ops.size() && chosen_ops[op]); }
};

// Not thread-safe.
class ReportCollector {
 public:
  ReportCollector(const AskServer& ask, EmbeddedAnswers& answers) : ask_(ask), answers_(answers) {}

  // Asks for JSON, keeps it, and returns it. Returns nothing if it was kept before, is no JSON, if the server refuses it, or if it would
  // take more than this share of the room.
  std::optional<Json> keep(const std::string& target, double share = 1);
  // The same for bytes.
  bool keep_bytes(const std::string& target);
  // Asks, and keeps nothing.
  [[nodiscard]] std::optional<Json> look(const std::string& target) const;
  // The JSON that was kept for this target.
  [[nodiscard]] std::optional<Json> kept(const std::string& target) const;

  // A list of at most kMostReportRows items under `address` with these parameters; a sentence is noted when it is cut. `what`: "records of
  // dump". Gives the items.
  Json keep_list(std::string_view address, const TargetParameters& parameters, std::string_view what);
  // The same without keeping them.
  Json read_list(std::string_view address, const TargetParameters& parameters, std::string_view what);

  // The graph of a dump as it is first shown, with everything open where there is room, and its colours.
  void keep_graph(const ReportedDump& dump, bool is_pair);
  // The graph in which this op is shown, where the first one hides it.
  void keep_graph_of(const ReportedDump& dump, uint64_t op);
  // Keeps the answers that the page shows beside the graph when an op is chosen.
  void keep_op(const ReportedDump& dump, uint64_t op);
  // Description, histogram and picture of a record. Whether all of them are kept.
  bool keep_tensor(const ReportedDump& dump, uint64_t record);
  // One pair of tensors with the pictures of its views.
  void keep_pair(uint64_t pair);
  // All curves of an op. Whether they are kept.
  bool keep_series(const ReportedDump& dump, const std::string& op);

  // Whether less than this share of the room is taken.
  [[nodiscard]] bool has_room(double share) const;
  void note(std::string sentence);
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  // The files from which the lines of source in the kept answers were read.
  [[nodiscard]] const std::set<std::string>& sources() const { return sources_; }

 private:
  // The parts of a picture: of a record, or of a pair with `of`. False when it does not fit.
  bool keep_slice(const std::string& address, TargetParameters parameters, const Json& shape);

  const AskServer& ask_;
  EmbeddedAnswers& answers_;
  std::vector<std::string> notes_;
  std::set<std::string> sources_;
  std::unordered_set<std::string> whole_graphs_;  // sides whose first graph shows every op
};

}  // namespace tensortap

#endif  // TENSORTAP_REPORT_REPORT_COLLECTOR_H_
