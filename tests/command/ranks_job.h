// Jobs made row by row, for the tests of `tensortap ranks`.

#ifndef TENSORTAP_TESTS_COMMAND_RANKS_JOB_H_
#define TENSORTAP_TESTS_COMMAND_RANKS_JOB_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "command/command.h"
#include "toy_engine.h"
#include "trace/record_row.h"

namespace command {

using tensortap::RecordRow;

// One rank's dump, in our own layout.
struct MadeRank {
  std::vector<std::string> names;  // of its ops, of type Mul where `types` says no other
  std::vector<RecordRow> rows;
  std::map<std::string, std::string> types = {};
  Json manifest = {{"tensortap", "0.1.0"}, {"layout", "tap"}, {"complete", true}, {"world_size", 4}, {"lost", 0}};
};

inline RecordRow row_of(uint32_t op, int64_t step, double l2, std::vector<int64_t> shape = {4}) {
  RecordRow row;
  row.op = op;
  row.step = step;
  row.set_desc({tensortap::DType::kFloat32, tensortap::Shape(std::span<const int64_t>(shape))});
  row.stats.l2 = l2;
  row.stats.min = -l2;
  row.stats.max = row.stats.absmax = l2;
  row.stats.count = row.numel;
  row.stats.valid = tensortap::kStatMin | tensortap::kStatMax | tensortap::kStatL2 | tensortap::kStatAbsMax | tensortap::kStatNonFinite;
  row.duration_ns = 1000;
  row.committed = 1;
  return row;
}

inline std::string descr_of_rows() {
  std::string text = "[";
  for (const tensortap::RecordField& field : tensortap::record_fields()) {
    text += std::string(text == "[" ? "" : ", ") + "('" + std::string(field.name) + "', '" + std::string(field.numpy_type) + "'";
    text += field.count > 1 ? ", (" + std::to_string(field.count) + ",))" : ")";
  }
  return text + "]";
}

inline void write_rank(const std::string& folder, MadeRank made) {
  std::filesystem::create_directories(folder);
  std::string ops;
  int id = 0;
  for (const std::string& name : made.names) {
    const auto type = made.types.find(name);
    ops += Json({{"id", id++}, {"name", name}, {"type", type == made.types.end() ? "Mul" : type->second}}).dump() + "\n";
  }
  for (size_t i = 0; i < made.rows.size(); ++i) made.rows[i].sequence = i;
  std::string raw(made.rows.size() * sizeof(RecordRow), '\0');
  if (!raw.empty()) std::memcpy(raw.data(), made.rows.data(), raw.size());
  write(folder + "/ops.jsonl", ops);
  write(folder + "/records.npy", npy(descr_of_rows(), {static_cast<int64_t>(made.rows.size())}, raw));
  if (!made.manifest.contains("records")) made.manifest["records"] = made.rows.size();
  write(folder + "/run.json", made.manifest.dump());
}

class RanksOfMadeJobs : public testing::Test {
 protected:
  // Four ranks, ten steps of the ops a, b and the weight w; `change` may alter each before it is written.
  void make(const std::function<void(int, MadeRank&)>& change = [](int, MadeRank&) {}) {
    for (int rank = 0; rank < 4; ++rank) {
      MadeRank made{{"a", "b", "w"}, {}};
      for (int64_t step = 0; step < 10; ++step) {
        // Values of ranks are close to each other, as those of other data are.
        made.rows.push_back(row_of(0, step, 2 + 0.01 * rank));
        made.rows.push_back(row_of(1, step, 3 - 0.01 * rank));
        made.rows.push_back(row_of(2, step, 5 + 0.5 * static_cast<double>(step)));
        made.rows.back().slot_kind = static_cast<uint8_t>(tensortap::SlotKind::kWeight);
        for (size_t i = made.rows.size() - 3; i < made.rows.size(); ++i) made.rows[i].rank = rank;
      }
      made.manifest["rank"] = rank;
      made.manifest["runtime"]["process_groups"] = {{{"name", "0"}, {"ranks", {0, 1, 2, 3}}}};
      change(rank, made);
      write_rank(job() + "/rank_" + std::to_string(rank), made);
    }
  }
  static RecordRow& at(MadeRank& made, uint32_t op, int64_t step) { return made.rows[static_cast<size_t>(step) * 3 + op]; }
  [[nodiscard]] std::string job() const { return folder_ / "job"; }
  [[nodiscard]] Done ranks(const std::string& words = "") const { return tensortap("ranks job " + words, {folder_.path()}); }

  toy::TempFolder folder_;
};

}  // namespace command

#endif  // TENSORTAP_TESTS_COMMAND_RANKS_JOB_H_
