// Reading what a crash left behind: which op ran, what it read, and the last ops of the ring.

#ifndef TENSORTAP_CRASH_CRASH_FILE_H_
#define TENSORTAP_CRASH_CRASH_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json_fwd.h"
#include "base/status.h"
#include "trace/dump_index.h"

namespace tensortap {

// "0x1f"
std::string hexadecimal(uint64_t number);
// Registers as a signal's context has them, by name.
Json registers_json(std::span<const uint64_t> registers);

// One crash. Immutable after reading; thread-safe. The file is untrusted.
class CrashFile {
 public:
  struct Op {
    OpId op = kNoOp;
    std::string name;
    std::string type;
    std::string attributes;
    uint32_t call = 0;
    int64_t step = 0;
    uint32_t thread = 0;
    uint32_t flags = 0;  // CrashOpFlag bits
    // Not known of files of older versions.
    std::string graph;
    std::string original;  // the author's node that it implements, "" = itself
    uint32_t place = 0;    // in the order of execution
    uint32_t outputs = 0;  // 0 = not known
    bool single = false;
    // As far as this file describes it.
    [[nodiscard]] OpInfo info() const;
  };

  // Errors: kCorrupt when it is no such file; one that ends too early is read as far as it goes.
  static Result<std::unique_ptr<CrashFile>> read(const std::string& path);
  // The crash files of a folder, in the order of their names; empty ones, of programs that go on or were killed, are left out.
  static std::vector<std::string> names_in(const std::string& folder);
  static bool is_name(std::string_view file_name);
  // Whether a crash of a session of this layout left a file in the folder.
  static bool is_left_in(const std::string& folder, std::string_view layout);

  [[nodiscard]] const std::vector<RecordRow>& rows() const { return rows_; }
  // Packed elements of rows()[row]. kNotFound when its memory could not be read.
  [[nodiscard]] Result<RecordData> data(size_t row) const;
  [[nodiscard]] const std::vector<Op>& ops() const { return ops_; }
  // Every op that the file describes: those, and the ones that records of the ring are of. In the order of their numbers, each once.
  [[nodiscard]] std::vector<const Op*> known_ops() const;
  // The op that ran when the signal came, as far as is known; null when none did.
  [[nodiscard]] const Op* crashed() const;
  // "SIGSEGV (invalid address 0x10) in op "conv_1""
  [[nodiscard]] std::string text() const;
  // Describes the session (crash/crash_session.h); "" in files of older versions.
  [[nodiscard]] std::string_view session() const { return session_; }
  [[nodiscard]] std::string layout() const;
  [[nodiscard]] int64_t time_us() const { return time_us_; }  // since 1970, 0 = not known
  // Whether the program that wrote the file still runs: it may survive the signal.
  [[nodiscard]] bool is_of_living_process() const;
  // Puts "crash", "complete", "failed_op" and "failed_ops" into a manifest, where they are missing.
  void add_to_manifest(Json& manifest) const;
  // {"signal", "code", "address", "process", "thread", "complete", "op", "running", "skipped", "registers", "stack"}
  [[nodiscard]] Json to_json() const;

 private:
  struct TensorFrame {
    std::span<const std::byte> bytes;
    bool is_narrow = false;  // CrashFrameKind::kNarrowTensor
  };

  CrashFile() = default;
  Status parse();
  bool take(uint32_t kind, std::span<const std::byte> bytes);
  bool take_op(std::span<const std::byte> bytes);
  bool take_session(std::span<const std::byte> bytes);
  bool take_tensor(std::span<const std::byte> bytes, bool is_narrow);
  [[nodiscard]] std::string place_of(uint64_t address) const;
  [[nodiscard]] Json stack_json() const;

  MappedFile file_;
  int32_t signal_ = 0;
  int32_t code_ = 0;
  uint64_t address_ = 0;
  uint32_t process_ = 0;
  uint32_t thread_ = 0;
  uint32_t skipped_ = 0;
  bool complete_ = false;
  std::vector<Op> ops_;
  std::vector<Op> told_;  // that records of the ring are of
  std::string session_;
  int64_t time_us_ = 0;
  std::vector<RecordRow> rows_;
  std::vector<TensorFrame> tensors_;  // by row
  std::vector<uint64_t> registers_;
  std::vector<uint64_t> stack_;
  std::string_view maps_;
};

}  // namespace tensortap

#endif  // TENSORTAP_CRASH_CRASH_FILE_H_
