// Writes the files of tensors, and op_param.json beside them, into the folders of their operations.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_OPERATION_FILES_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_OPERATION_FILES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "layout/dump_room.h"
#include "system/msit/tree/equal_files.h"
#include "system/msit/tree/msit_options.h"
#include "trace/record_row.h"
#include "tree/file_parts.h"
#include "tree/named_folder.h"

namespace tensortap::msit {

// The place of a tensor's file.
struct FilePlace {
  std::string operation;  // its folder, below the root: "msit_dump_T/tensors/0_1/0/1_Linear"
  std::string moment;     // "before" or "after"
  bool is_input = false;
  uint32_t slot = 0;
  uint32_t call = 0;

  [[nodiscard]] std::string folder() const { return operation + "/" + moment; }
};

// Thread-compatible; bytes_written() may be asked from any thread. A file appears as a whole, under its name, or not at all; it never
// replaces one. `options` outlives it.
class OperationFiles {
 public:
  explicit OperationFiles(const WriterOptions& options) : options_(options), room_(options.max_bytes), equal_(options.root->path()) {}

  // Writes one tensor: a header, and its elements where `elements` has any. If the options ask for links and a file with the same bytes
  // exists, writes a relative link to that file instead. A name that is taken gets the number of a call. Errors: kUnsupported for a type
  // that the format cannot store, kIo, kExhausted, and those that DumpRoom::is_no_room() recognises.
  Status write(const FilePlace& place, const RecordRow& row, const FilePart* elements, WrittenFile& written);
  // Gives a file that was written a second name: a hard link, or a symbolic one where the options ask for these.
  Status link(const WrittenFile& from, const FilePlace& place);
  // Writes op_param.json into the folder of an operation.
  Status write_parameters(const std::string& operation, std::string_view content);
  // Writes a file that belongs to no operation into a folder below the root; keeps a file that already exists.
  Status write_document(const std::string& below, const std::string& name, std::string_view content);
  // Adds to such a file, or makes it.
  Status append_document(const std::string& below, const std::string& name, std::string_view content);
  // Writes one of our own files into a folder of the dump; replaces a file that already exists.
  Status write_manifest(std::string_view manifest);

  [[nodiscard]] uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kMostFolders = 64;

  Result<std::shared_ptr<NamedFolder>> folder_of(const std::string& below);
  Result<std::shared_ptr<NamedFolder>> make_folder(const std::string& below);
  // The folder that holds it, made with all above.
  Result<std::shared_ptr<const Folder>> folder_above(const std::string& below);
  // A whole file with its header.
  Status write_file(const FilePlace& place, std::string_view header, const FilePart* elements, WrittenFile& written);
  Status point(const WrittenFile& from, const FilePlace& place, WrittenFile& written);
  // Calls `give` with names for the place until one is free.
  template <class Give>
  Status under_free_name(const FilePlace& place, Give&& give);

  const WriterOptions& options_;
  DumpRoom room_;
  EqualFiles equal_;
  std::map<std::string, std::shared_ptr<const Folder>> above_;  // held open: most folders are in the same few
  std::map<std::string, std::shared_ptr<NamedFolder>> folders_;
  std::atomic<uint64_t> bytes_written_{0};
};

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_OPERATION_FILES_H_
