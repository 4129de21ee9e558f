// The tables of a dump: a row for each execution of an operation that has none below it, and of a kernel.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_TABLES_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_TABLES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "format/msit_bin/execution_table.h"
#include "system/msit/tree/msit_options.h"
#include "trace/record_row.h"
#include "tree/named_folder.h"

namespace tensortap::msit {

// An operation as a table names it.
struct TableOp {
  std::string_view process;     // "0_22377"
  std::string_view path;        // below the round
  std::string_view name;        // "LinearOperation_1_0", of a kernel its type alone
  std::string_view parameters;  // JSON text, "" = none
  std::string_view own_kernel;  // name of the kernel if the operation is its own kernel, "" = it is not
  bool is_kernel = false;
  bool is_leaf = false;  // nothing but kernels is below it
};

// Collects the records of executions and writes a row when an execution is over: when a record comes of an op that is not below it. In the
// order of the records of each thread. Thread-compatible. `options` outlives it.
class Tables {
 public:
  explicit Tables(const WriterOptions& options) : options_(options) {}

  [[nodiscard]] bool wanted() const { return options_.operation_table || options_.kernel_table; }
  // Takes a record of the operation that runs. Text that is written fails with kIo or kExhausted; rows that wait go on waiting.
  Status see(const TableOp& op, const RecordRow& row);
  // All executions of a run are over.
  Status end_run(uint64_t run);
  // Writes the rows that wait.
  Status flush();
  Status finish();

 private:
  struct Slot {
    uint32_t number = 0;
    TensorDesc desc;
    bool blocked = false;
  };
  // What is known of an execution so far.
  struct Execution {
    std::string process;
    std::string path;
    std::string name;
    std::string parameters;
    std::string own_kernel;
    bool is_kernel = false;
    bool is_leaf = false;
    int64_t round = 0;
    uint32_t call = 0;
    std::vector<Slot> inputs;
    std::vector<Slot> outputs;
  };
  // One file.
  struct Table {
    std::shared_ptr<NamedFolder> folder;
    std::string waiting;
    uint64_t rows = 0;
  };

  Status end(const Execution& execution);
  Status add_row(const Execution& execution, const std::string& name, bool as_kernel);
  Status write(const std::string& name, Table& table);
  [[nodiscard]] std::string row_of(const Execution& execution, const std::string& name, uint64_t number) const;
  [[nodiscard]] std::vector<ExecutionTensor> side_of(const Execution& execution, bool is_input) const;

  const WriterOptions& options_;
  std::map<std::pair<uint64_t, uint32_t>, std::vector<Execution>> running_;  // by run and thread, those below others behind them
  std::map<std::string, Table> tables_;                                      // by the name of the file, below the dump
};

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_TABLES_H_
