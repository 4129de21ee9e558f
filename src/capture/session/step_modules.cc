#include "session/step_modules.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tensortap {
namespace {

constexpr size_t kMostExamples = 5;

void keep_example(std::vector<std::string>& examples, const std::string& text) {
  if (examples.size() < kMostExamples && std::ranges::find(examples, text) == examples.end()) examples.push_back(text);
}

}  // namespace

StepModules::StepModules(const std::string& expression, bool has_modules) : expression_(expression), has_modules_(has_modules) {
  if (expression.empty()) return;
  if (Result<NamePattern> pattern = NamePattern::compile(expression); pattern.ok()) pattern_ = *std::move(pattern);
}

bool StepModules::is_one(const std::string& path, const std::string& type) {
  if (!are_asked_for()) return false;
  const bool matches = pattern_->is_in(path) || pattern_->is_in(type);
  const std::lock_guard lock(mutex_);
  keep_example(matches ? matching_ : others_, concat(path, " (", type, ")"));
  return matches;
}

std::string StepModules::problem() const {
  if (!pattern_.has_value() || called_.load(std::memory_order_relaxed)) return {};
  const std::string asked = concat("\"step_at\" ", quote(expression_), " began no step: ");
  if (!has_modules_) return concat(asked, "this source reports no calls of modules");
  const std::lock_guard lock(mutex_);
  if (!matching_.empty()) {
    return concat(asked, join(matching_, ", "),
                  " matched, but no call of it was seen. Modules inside a compiled graph are not called: use ",
                  "the module that was compiled, or --compile eager");
  }
  if (others_.empty()) return concat(asked, "the program called no module");
  return concat(asked, "no module has such a path or class. There are, among others, ", join(others_, ", "));
}

}  // namespace tensortap
