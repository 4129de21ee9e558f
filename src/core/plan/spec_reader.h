// Reading typed values out of a parsed config with errors that say where: shared by spec_json.cc and selector_json.cc.

#ifndef TENSORTAP_PLAN_SPEC_READER_H_
#define TENSORTAP_PLAN_SPEC_READER_H_

#include <span>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/status.h"
#include "plan/capture_spec.h"

namespace tensortap {

// A value of the config and its place. Borrows the text, its name and the parsed tree.
class SpecValue {
 public:
  SpecValue(const Json& json, std::string_view text, std::string_view name) : json_(&json), text_(text), name_(name) {}

  [[nodiscard]] const Json& json() const { return *json_; }
  [[nodiscard]] SpecValue member(const std::string& key) const;
  [[nodiscard]] SpecValue element(size_t index) const;

  [[nodiscard]] const std::string& key() const { return key_; }  // "dump.dump_list[0]"

  // "name:line:column: key: what".
  [[nodiscard]] Status error(std::string_view what) const;
  // error() for a value of the wrong type: "must be a text, not a number".
  [[nodiscard]] Status wrong_type(std::string_view expected) const;
  [[nodiscard]] std::string position() const;  // "name:line:column"
  // A position that costs nothing: "name: include[1234]".
  [[nodiscard]] std::string path() const;

  Status read_text(std::string& target) const;
  Status read_bool(bool& target) const;
  Status read_whole(uint64_t& target, uint64_t least, uint64_t most) const;
  Status read_bytes(uint64_t& target) const;  // a number or "4 GiB"
  Status read_texts(std::vector<std::string>& target) const;
  // One of `names`; `index` is its number.
  Status read_choice(std::span<const std::string_view> names, size_t& index) const;

 private:
  const Json* json_;
  std::string_view text_;
  std::string_view name_;
  std::string pointer_;
  std::string key_;
};

// `"a", "b" or "c"`.
std::string choices_text(std::span<const std::string_view> names);

// The list of selectors at `value`; `slots_allowed` for exclusions.
Status read_selectors(const SpecValue& value, bool slots_allowed, std::vector<OpSelector>& selectors);
Json selectors_to_json(const std::vector<OpSelector>& selectors);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_SPEC_READER_H_
