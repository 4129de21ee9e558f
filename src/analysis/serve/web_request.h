// WebRequest: path and parameters of a request, as a browser writes them.

#ifndef TENSORTAP_SERVE_WEB_REQUEST_H_
#define TENSORTAP_SERVE_WEB_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap {

inline constexpr size_t kMostTargetBytes = size_t{32} << 10;

// A text as a parameter of a target or of an address' fragment has it; WebRequest reads it back.
std::string percent_encoded(std::string_view text);

// Immutable. Messages of errors begin with the name of the parameter.
class WebRequest {
 public:
  // Parses "/api/records?where=nan%20%3E%200". Errors: kInvalidArgument for a target that is no path, a bad escape, a byte 0, text that is
  // no UTF-8.
  static Result<WebRequest> parse(std::string_view target);

  [[nodiscard]] const std::string& path() const { return path_; }
  // The parts of the path between its slashes: "api", "record", "3", "slice".
  [[nodiscard]] const std::vector<std::string>& parts() const { return parts_; }

  // Errors: kInvalidArgument when there is a parameter that is none of `known`, naming the nearest, or is given twice and not `repeatable`.
  [[nodiscard]] Status check_names(std::initializer_list<std::string_view> known,
                                   std::initializer_list<std::string_view> repeatable = {}) const;

  // "" when it is not given.
  [[nodiscard]] std::string text(std::string_view name) const;
  // Each time that it is given, in order.
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return parameters_.contains(name); }
  // `fallback` when it is not given. Errors: kInvalidArgument when it is no number within the bounds.
  [[nodiscard]] Result<int64_t> number(std::string_view name, int64_t fallback, int64_t least, int64_t most) const;
  // One of the words; the first when it is not given.
  [[nodiscard]] Result<std::string> choice(std::string_view name, std::initializer_list<std::string_view> words) const;

  // `from` and `limit` of a list.
  struct Page {
    size_t from = 0;
    size_t limit = 0;
  };
  [[nodiscard]] Result<Page> page() const;

 private:
  std::string path_;
  std::vector<std::string> parts_;
  std::multimap<std::string, std::string, std::less<>> parameters_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_WEB_REQUEST_H_
