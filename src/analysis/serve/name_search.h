// NameSearch: the names of a dump (ops, modules, types, lines of source, nodes of the author's graph), searched for a text.

#ifndef TENSORTAP_SERVE_NAME_SEARCH_H_
#define TENSORTAP_SERVE_NAME_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_model.h"
#include "trace/dump_index.h"

namespace tensortap {

// Made once for a dump, which it borrows, as it does the model. Immutable; thread-safe. Searching is linear in the length of all names.
class NameSearch {
 public:
  enum class Kind : uint8_t { kOp, kModule, kType, kSource, kOriginal };
  static std::string_view kind_name(Kind kind);  // "op", "module", "type", "source", "original"

  NameSearch(const DumpIndex& dump, const GraphModel& model);

  struct Hit {
    Kind kind;
    std::string_view name;
    OpId op;         // that has the name, or is the first in it; kNoOp when there is none
    uint32_t group;  // of kModule, in the model
  };
  struct Hits {
    std::vector<Hit> best;  // whole names first, then ends of names, then beginnings, then the shortest
    size_t total = 0;
  };
  // Names that contain `text`, whatever its capitals (ASCII), or with underscores before its capitals. Nothing for an empty text.
  [[nodiscard]] Hits find(std::string_view text, size_t limit) const { return find(text, limit, std::nullopt); }
  // Only names of one kind; all of them, in their order, for an empty text.
  [[nodiscard]] Hits find(std::string_view text, size_t limit, std::optional<Kind> kind) const;
  // nothing for another text
  static std::optional<Kind> kind_named(std::string_view name);

 private:
  struct Name {
    size_t begin;  // in letters_
    uint32_t size;
    Kind kind;
    OpId op;
    uint32_t group;
    const char* text;  // as the dump has it
  };
  struct Found {
    int rank;
    size_t name;
  };
  [[nodiscard]] std::vector<Found> found_of(std::string_view wanted, std::optional<Kind> kind) const;
  [[nodiscard]] Hits all_of(Kind kind, size_t limit) const;
  void add(Kind kind, std::string_view name, OpId op, uint32_t group = 0);

  std::string letters_;  // all names in small letters, a line each
  std::vector<Name> names_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_NAME_SEARCH_H_
