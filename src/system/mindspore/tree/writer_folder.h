// The folder of one iteration while it is written: tensor files, mapping.csv, statistic.csv.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_FOLDER_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_FOLDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/folder.h"
#include "base/status.h"
#include "system/mindspore/tree/npy_tensor.h"

namespace tensortap::mindspore {

// A descriptor, closed on destruction. Move-only.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// The mode of a finished file: as the real system has it, or for whom the umask lets.
constexpr mode_t tree_file_mode(Access access) { return access == Access::kShared ? 0444 : 0400; }

// Folders below `root`, which exists; gives the last. No part of `below` may be a link.
Result<Folder> make_tree_folders(const std::string& root, const std::string& below, Access access);
// A whole file with tree_file_mode(). An earlier one is kept, or replaced. On failure none is left under the name.
enum class Earlier : uint8_t { kKeep, kReplace };
Status write_tree_file(const Folder& folder, const std::string& name, std::string_view content, Earlier earlier, Access access);
// Adds to a file with tree_file_mode(), made when it is not there. A failure leaves it as it was.
Status append_tree_file(const Folder& folder, const std::string& name, std::string_view content, Access access);

// Thread-compatible.
class IterationFolder {
 public:
  // Makes it where it is not there. `header` is that of statistic.csv.
  static Result<std::shared_ptr<IterationFolder>> create(const std::string& root, const std::string& below, std::string_view header,
                                                         Access access);

  // Each makes `name`, or a short name in its place that mapping.csv explains when it is too long; `stored` says which. On failure nothing is left
  // behind; kUnsupported when the name is taken. A staged file is one that will be moved or removed: mapping.csv does not list it.
  enum class Stage : uint8_t { kFinal, kStaged };
  Status create_tensor(NpyTensorWriter& writer, const std::string& name, const TensorView& view, Stage stage, std::string& stored);
  // The same file as `stored_there` of `from`, by a link, or by a copy where there are no links; `copied` gets the bytes of a copy.
  Status link_tensor(const IterationFolder& from, const std::string& stored_there, const std::string& name, std::string& stored,
                     uint64_t& copied);
  Status move_tensor(IterationFolder& from, const std::string& stored_there, const std::string& name, std::string& stored);
  // Removes a staged file, or the one that was made last.
  void remove_tensor(const std::string& stored);

  // Takes a row of statistic.csv, to be written in blocks. When that fails, the row is not taken.
  Status add_statistic(std::string_view row);
  // Writes the rows that wait. They go on waiting when that fails.
  Status flush();
  [[nodiscard]] uint64_t waiting_rows_bytes() const { return rows_.size(); }
  [[nodiscard]] uint64_t take_written_bytes();  // of csv files, since the last call
  [[nodiscard]] const std::string& path() const { return folder_.path(); }
  [[nodiscard]] const Folder& folder() const { return folder_; }

 private:
  IterationFolder(Folder folder, std::string_view header, Access access) : folder_(std::move(folder)), header_(header), access_(access) {}
  template <class Action>
  Status under_stored_name(const std::string& name, Stage stage, std::string& stored, Action&& action);
  Status list_in_mapping(const std::string& stored, const std::string& name);
  Status open_statistic();

  Folder folder_;
  std::string header_;
  Access access_;
  std::string rows_;
  Descriptor statistic_;
  uint64_t written_ = 0;
  std::string last_mapped_;      // the file that the last line of mapping.csv names, as far as we wrote it
  size_t last_mapped_line_ = 0;  // bytes of that line
};

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_FOLDER_H_
