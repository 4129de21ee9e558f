// Lists what a layout cannot store: of every dump, and of one.

#ifndef TENSORTAP_CONVERT_LAYOUT_LOSSES_H_
#define TENSORTAP_CONVERT_LAYOUT_LOSSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "layout/layout.h"
#include "trace/dump_index.h"

namespace tensortap {

struct Loss {
  std::string kind;          // "statistics", "types", "names", ...
  std::string what;          // "std, absmax and 7 more"
  uint64_t records = 0;      // of a dump; 0 where it concerns all of them
  bool kept_beside = false;  // what .tensortap/origin brings back when the tree is read (read/restored_dump.h)
};

// Lists what the layout `from` keeps and `to` does not.
std::vector<Loss> losses_between(const Layout& from, const Layout& to);

// Lists what `dump` contains and the layout `to` does not keep.
std::vector<Loss> losses_of(const DumpIndex& dump, const Layout& to);

// Sentences for people.
std::vector<std::string> loss_notes(const std::vector<Loss>& losses, const Layout& to);

// All pairs of layouts as a table of Markdown.
std::string loss_table();

}  // namespace tensortap

#endif  // TENSORTAP_CONVERT_LAYOUT_LOSSES_H_
