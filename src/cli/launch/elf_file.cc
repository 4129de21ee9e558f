#include "cli/launch/elf_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>

namespace tensortap::cli {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_NONE;
#endif

uint32_t gnu_hash_of(std::string_view name) {
  uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

template <class T>
std::optional<T> ElfFile::at(uint64_t offset) const {
  if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes_.data() + offset, sizeof value);
  return value;
}

std::optional<uint64_t> ElfFile::offset_of(uint64_t address) const {
  for (uint16_t i = 0; i < header_count_; ++i) {
    const auto header = at<Elf64_Phdr>(headers_ + uint64_t{i} * sizeof(Elf64_Phdr));
    if (!header) return std::nullopt;
    if (header->p_type != PT_LOAD || address < header->p_vaddr || address - header->p_vaddr >= header->p_filesz) continue;
    return header->p_offset + (address - header->p_vaddr);
  }
  return std::nullopt;
}

std::optional<ElfFile> ElfFile::parse(std::span<const std::byte> bytes) {
  ElfFile file(bytes);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) return std::nullopt;
  if (header->e_phnum != 0 && header->e_phentsize != sizeof(Elf64_Phdr)) return std::nullopt;
  file.machine_ = header->e_machine;
  file.headers_ = header->e_phoff;
  file.header_count_ = header->e_phnum;
  for (uint16_t i = 0; i < file.header_count_; ++i) {
    const auto part = file.at<Elf64_Phdr>(file.headers_ + uint64_t{i} * sizeof(Elf64_Phdr));
    if (!part) return std::nullopt;
    if (part->p_type == PT_INTERP) file.interpreter_ = true;
    if (part->p_type != PT_DYNAMIC) continue;
    for (uint64_t offset = part->p_offset;; offset += sizeof(Elf64_Dyn)) {
      const auto entry = file.at<Elf64_Dyn>(offset);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_SYMTAB) file.symbols_ = file.offset_of(entry->d_un.d_ptr).value_or(0);
      if (entry->d_tag == DT_STRTAB) file.strings_ = file.offset_of(entry->d_un.d_ptr).value_or(0);
      if (entry->d_tag == DT_GNU_HASH) file.gnu_hash_ = file.offset_of(entry->d_un.d_ptr).value_or(0);
    }
  }
  return file;
}

bool ElfFile::is_native() const { return machine_ == kMachine; }

bool ElfFile::is_symbol(uint64_t number, std::string_view name) const {
  const auto symbol = at<Elf64_Sym>(symbols_ + number * sizeof(Elf64_Sym));
  if (!symbol || symbol->st_shndx == SHN_UNDEF) return false;
  const uint64_t offset = strings_ + symbol->st_name;
  if (offset > bytes_.size() || bytes_.size() - offset <= name.size()) return false;
  const auto* text = reinterpret_cast<const char*>(bytes_.data() + offset);  // NOLINT: bytes of a file
  return std::memcmp(text, name.data(), name.size()) == 0 && text[name.size()] == '\0';
}

bool ElfFile::defines(std::string_view name) const {
  struct HashHeader {
    uint32_t buckets;
    uint32_t first_symbol;
    uint32_t filter_words;
    uint32_t filter_shift;
  };
  if (symbols_ == 0 || strings_ == 0 || gnu_hash_ == 0) return false;
  const auto header = at<HashHeader>(gnu_hash_);
  if (!header || header->buckets == 0) return false;
  const uint32_t hash = gnu_hash_of(name);
  const uint64_t buckets = gnu_hash_ + sizeof(HashHeader) + uint64_t{header->filter_words} * sizeof(uint64_t);
  const uint64_t chains = buckets + uint64_t{header->buckets} * sizeof(uint32_t);
  const auto first = at<uint32_t>(buckets + uint64_t{hash % header->buckets} * sizeof(uint32_t));
  if (!first || *first < header->first_symbol) return false;
  for (uint64_t number = *first;; ++number) {
    const auto chain = at<uint32_t>(chains + (number - header->first_symbol) * sizeof(uint32_t));
    if (!chain) return false;
    if ((*chain | 1U) == (hash | 1U) && is_symbol(number, name)) return true;
    if ((*chain & 1U) != 0) return false;
  }
}

bool runs_with_other_rights(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) return true;
  if ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != getegid()) return true;
  return geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

}  // namespace tensortap::cli
