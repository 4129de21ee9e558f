#include "source/acl/missed_ops.h"

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "base/json_members.h"
#include "base/other_model.h"
#include "source/acl/dump_config.h"
#include "source/acl/failure.h"

namespace tensortap::acl_source::missed_ops {
namespace {

// By the timestamp of a dump: the models that its config names and that none of those loaded so far is.
struct OtherModels {
  std::mutex mutex;
  std::map<std::string, Json> by_dump;  // guarded by mutex
};

OtherModels& other_models() {
  static auto* const others = new OtherModels;
  return *others;
}

}  // namespace

void model_loaded(const DumpRequest& dump, const Json& description) {
  if (dump.places || !description.value("capture", false)) return;
  Json others = list_in(description, "other_models");
  std::set<std::string> said_at_the_end;
  for (const Json& other : others) said_at_the_end.insert(text_member(other, "text"));
  for (const std::string& text : strings_in(description, "unmatched")) {
    if (!said_at_the_end.contains(text)) warn_once(text);
  }
  const std::lock_guard lock(other_models().mutex);
  const auto [known, is_first] = other_models().by_dump.try_emplace(dump.timestamp, std::move(others));
  if (!is_first) known->second = other_models_in_both(known->second, list_in(description, "other_models"));
}

void dump_ended(const DumpRequest& dump) {
  Json others;
  {
    const std::lock_guard lock(other_models().mutex);
    const auto known = other_models().by_dump.find(dump.timestamp);
    if (known == other_models().by_dump.end()) return;
    others = std::move(known->second);
    other_models().by_dump.erase(known);
  }
  for (const Json& other : others) warn_once(text_member(other, "text"));
}

}  // namespace tensortap::acl_source::missed_ops
