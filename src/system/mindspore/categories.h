// The items of `statistic_category`: what each is called, and which of our statistics it shows.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_CATEGORIES_H_
#define TENSORTAP_SYSTEM_MINDSPORE_CATEGORIES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensortap::mindspore {

struct Category {
  std::string_view item;       // as the config has it
  std::string_view column;     // the item whose column it is: "hash" and "hash:sha1" are one
  std::string_view statistic;  // by the name that plan/spec_keys.h knows; "" = none is needed
  std::string_view digest;     // "md5", "sha1" or ""
  bool on_device;              // MindSpore can compute it on the device
  bool newest_only;            // ConfigRules::hash_categories
};

std::span<const Category> categories();
// Null when there is none of this name; the names of columns are known, too.
const Category* find_category(std::string_view item);

// What a config without `statistic_category` has.
std::vector<std::string> default_categories();

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_CATEGORIES_H_
