#include "source/acl/program_symbols.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tensortap::acl_source {
namespace {

struct SymbolSearch {
  std::span<const char* const> names;
  uintptr_t own_address;
  bool found = false;
};

// The tables of one object that relocations are read with.
struct DynamicTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela) * calls = nullptr;
  const ElfW(Rela) * others = nullptr;
  size_t call_bytes = 0;
  size_t other_bytes = 0;
};

DynamicTables read_tables(const ElfW(Dyn) * dynamic) {
  DynamicTables tables;
  bool has_addends = false;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const auto* const address = reinterpret_cast<const void*>(dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_SYMTAB) tables.symbols = static_cast<const ElfW(Sym)*>(address);
    if (dynamic->d_tag == DT_STRTAB) tables.strings = static_cast<const char*>(address);
    if (dynamic->d_tag == DT_JMPREL) tables.calls = static_cast<const ElfW(Rela)*>(address);
    if (dynamic->d_tag == DT_PLTRELSZ) tables.call_bytes = dynamic->d_un.d_val;
    if (dynamic->d_tag == DT_PLTREL) has_addends = dynamic->d_un.d_val == DT_RELA;
    if (dynamic->d_tag == DT_RELA) tables.others = static_cast<const ElfW(Rela)*>(address);
    if (dynamic->d_tag == DT_RELASZ) tables.other_bytes = dynamic->d_un.d_val;
  }
  if (!has_addends) tables.calls = nullptr;
  return tables;
}

bool refers(const DynamicTables& tables, const ElfW(Rela) * relocations, size_t bytes, std::span<const char* const> names) {
  if (relocations == nullptr) return false;
  return std::ranges::any_of(std::span(relocations, bytes / sizeof(ElfW(Rela))), [&](const ElfW(Rela) & relocation) {
    const size_t symbol = ELF64_R_SYM(relocation.r_info);
    if (symbol == 0) return false;
    const std::string_view name = tables.strings + tables.symbols[symbol].st_name;
    return std::ranges::find(names, name) != names.end();
  });
}

int look_into(dl_phdr_info* info, size_t /*size*/, void* user) {
  auto& search = *static_cast<SymbolSearch*>(user);
  const ElfW(Dyn)* dynamic = nullptr;
  uintptr_t begin = UINTPTR_MAX;
  uintptr_t end = 0;
  for (const auto& segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    const uintptr_t address = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(address);
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min(begin, address);
    end = std::max(end, address + segment.p_memsz);
  }
  const bool is_own = search.own_address >= begin && search.own_address < end;
  if (dynamic == nullptr || is_own) return 0;
  const DynamicTables tables = read_tables(dynamic);
  // Tables of an object whose addresses the loader has not adjusted (the kernel's own) lie outside of it.
  const auto strings = reinterpret_cast<uintptr_t>(tables.strings);
  if (tables.symbols == nullptr || strings < begin || strings >= end) return 0;
  search.found =
      refers(tables, tables.calls, tables.call_bytes, search.names) || refers(tables, tables.others, tables.other_bytes, search.names);
  return search.found ? 1 : 0;
}

}  // namespace

bool program_refers_to(std::span<const char* const> names) {
  SymbolSearch search{names, reinterpret_cast<uintptr_t>(&program_refers_to)};
  dl_iterate_phdr(&look_into, &search);
  return search.found;
}

bool program_sets_sizes_blindly() {
  static constexpr std::array kSetters = {"aclmdlSetDynamicBatchSize", "aclmdlSetDynamicHWSize", "aclmdlSetInputDynamicDims"};
  static constexpr std::array kQuestions = {"aclmdlGetDynamicBatch", "aclmdlGetDynamicHW", "aclmdlGetInputDynamicGearCount"};
  static const bool blindly = program_refers_to(kSetters) && !program_refers_to(kQuestions);
  return blindly;
}

}  // namespace tensortap::acl_source
