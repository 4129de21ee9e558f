// The dump of this process: its session, the operations in it, and the files beside the tensors.

#ifndef TENSORTAP_SOURCE_ATB_DUMP_H_
#define TENSORTAP_SOURCE_ATB_DUMP_H_

#include <tensortap/asking.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "source/atb/dump_request.h"
#include "source/atb/reported_graphs.h"
#include "source/atb/tensor_path.h"

namespace tensortap::atb {

// Thread-safe.
class Dump {
 public:
  // The dump of this process while this object lives; a child of fork() gets a separate one. Null when nothing is dumped. If a dump was
  // asked for, one message reports this.
  class InUse {
   public:
    InUse();
    ~InUse();
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
    [[nodiscard]] Dump* get() const { return dump_; }

   private:
    Dump* dump_;
  };

  [[nodiscard]] bool wishes(Wish wish) const { return request_.has(wish); }
  bool selects_operation(std::span<const int64_t> ids, std::string_view type);
  bool selects_folder(std::string_view folder);
  bool selects_execution(uint64_t count);
  // Whether to dump the parameters of the operation with this folder. The program passes them without asking about the folder or the
  // execution first.
  bool selects_parameters(std::string_view folder);
  void look_at_config();

  void save_tensor(const ToldTensor& tensor, const void* data, uint64_t bytes);
  void save_document(std::string_view path, std::string_view content);
  void report_graph(std::string_view operation, std::string_view graph);
  bool wants_model(std::string_view model);
  void report_model(std::string_view model, std::string_view graph);
  void report_execution(Table table, uint64_t count, std::string_view name, std::string_view parameters, std::span<const ToldTensor> inputs,
                        std::span<const ToldTensor> outputs);
  void report_times(uint64_t count, std::string_view operation, std::string_view times);

 private:
  static constexpr size_t kMostOperations = 1'000'000;
  static constexpr size_t kMostTables = 100'000;

  Dump(DumpRequest request, tensortap_session* session);
  static Dump* of_process();
  static Dump* open();
  static void close_at_exit();

  bool keeps(const tensortap_question& question) { return tensortap_would_keep(session_, &question) != 0; }
  // Whether a config that is followed selects the folder, as to its round too where `also` is TENSORTAP_QUESTION_STEP. True without one.
  bool follows_into(std::string_view folder, uint32_t also);
  tensortap_op_id op_of(const FolderPath& folder);
  void give(const TensorPath& path, tensortap_tensor& tensor);
  bool has_disk_room(uint64_t bytes);
  void write(const std::string& path, std::string_view content, uint32_t flags = 0);
  void list_for_msit(const std::string& path);
  void write_topology(std::string_view folder, const std::string& name, const std::string& text);

  const DumpRequest request_;
  tensortap_session* const session_;
  const std::string process_;  // its number, as folders are called
  const std::string folder_;   // of the dump, absolute
  std::atomic<bool> full_disk_said_{false};
  std::mutex mutex_;                                         // of all that follows
  std::map<std::string, tensortap_op_id, std::less<>> ops_;  // by process and path below the round
  ReportedGraphs graphs_;
  std::set<std::string, std::less<>> models_;
  std::map<std::pair<Table, uint64_t>, uint64_t> rows_;  // of each table
};

}  // namespace tensortap::atb

#endif  // TENSORTAP_SOURCE_ATB_DUMP_H_
