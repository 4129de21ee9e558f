// What an ELF file on disk contains about itself: whether the loader will preload into it, and which functions it exports.

#ifndef TENSORTAP_CLI_LAUNCH_ELF_FILE_H_
#define TENSORTAP_CLI_LAUNCH_ELF_FILE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/status.h"

namespace tensortap::cli {

// Borrows the bytes; any content is survived. Immutable.
class ElfFile {
 public:
  // Nothing when the bytes are no little-endian 64-bit ELF file.
  static std::optional<ElfFile> parse(std::span<const std::byte> bytes);

  // Of this machine's processor.
  [[nodiscard]] bool is_native() const;
  // Started by a dynamic loader; false for a static program.
  [[nodiscard]] bool has_interpreter() const { return interpreter_; }
  // Whether its dynamic symbol table defines `name`.
  [[nodiscard]] bool defines(std::string_view name) const;

 private:
  explicit ElfFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  [[nodiscard]] std::optional<T> at(uint64_t offset) const;
  [[nodiscard]] std::optional<uint64_t> offset_of(uint64_t address) const;
  [[nodiscard]] bool is_symbol(uint64_t number, std::string_view name) const;

  std::span<const std::byte> bytes_;
  uint16_t machine_ = 0;
  bool interpreter_ = false;
  uint64_t headers_ = 0;  // offset of the program headers
  uint16_t header_count_ = 0;
  uint64_t symbols_ = 0;  // file offsets, 0 = none
  uint64_t strings_ = 0;
  uint64_t gnu_hash_ = 0;
};

// Whether another user's rights or file capabilities come with running the file, so that the loader ignores LD_PRELOAD.
bool runs_with_other_rights(const std::string& path);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_ELF_FILE_H_
