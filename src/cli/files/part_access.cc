#include "cli/files/part_access.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/text.h"
#include "read/open_dump.h"

namespace tensortap::cli {

void add_part_option(CLI::App& app, std::string& chosen) {
  app.add_option(
         "--part", chosen,
         "Only these of a dump with several processes, ranks or models: process_4711, rank_1,rank_2, first, or a word of a process's "
         "title or command")
      ->type_name("NAMES");
}

Result<AskedParts> asked_parts(const std::string& path, std::string_view chosen) {
  TENSORTAP_ASSIGN_OR_RETURN(std::vector<DumpPart> parts, find_parts(path));
  AskedParts asked;
  asked.are_several = parts.size() > 1;
  if (!asked.are_several) parts.front().path = path;
  auto kept = chosen_parts(parts, chosen);
  if (!kept.ok()) return Status(kept.status().code(), concat("--part ", kept.status().message()));
  asked.parts = *std::move(kept);
  return asked;
}

Result<std::unique_ptr<DumpIndex>> open_part(const Terminal& terminal, const AskedParts& asked, const DumpPart& part) {
  if (!asked.are_several) return open_for_reading(terminal, part.path);
  TENSORTAP_ASSIGN_OR_RETURN(auto dump, open_dump(part.path));
  warn_of_problems(terminal, *dump, part.path, part.name);
  return dump;
}

Result<std::vector<OpenPart>> open_parts(const Terminal& terminal, const AskedParts& asked, AnsweredDumps& dumps) {
  std::vector<OpenPart> open;
  Status first;
  std::vector<std::string> unread;
  for (const DumpPart& part : asked.parts) {
    auto dump = open_part(terminal, asked, part);
    const std::string name = asked.are_several ? part_title(part) : part.path;
    if (dump.ok()) {
      dumps.add(name, (*dump)->completeness());
      open.push_back({part, *std::move(dump)});
      continue;
    }
    Completeness lost;
    lost.lack(dump.status().message());
    dumps.add(name, std::move(lost));
    unread.push_back(concat(name, ": ", dump.status().message()));
    if (first.ok()) first = dump.status();
  }
  if (open.empty()) return first;
  for (const std::string& one : unread) terminal.warn(printable(one));
  return open;
}

}  // namespace tensortap::cli
