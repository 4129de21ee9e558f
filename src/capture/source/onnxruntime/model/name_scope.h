// What is known of the values that a graph sees: its own and those of the graphs around it.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_NAME_SCOPE_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_NAME_SCOPE_H_

#include <string_view>
#include <unordered_map>
#include <utility>

namespace tensortap::onnxruntime {

// Borrows the names and the scope around it.
template <class T>
class NameScope {
 public:
  explicit NameScope(const NameScope* outer) : outer_(outer) {}

  // The innermost graph's; `otherwise` for a name that none knows.
  [[nodiscard]] T find(std::string_view name, T otherwise) const {
    for (const NameScope* scope = this; scope != nullptr; scope = scope->outer_) {
      const auto entry = scope->entries_.find(name);
      if (entry != scope->entries_.end()) return entry->second;
    }
    return otherwise;
  }
  // Of this graph's own values alone.
  [[nodiscard]] T own(std::string_view name, T otherwise) const {
    const auto entry = entries_.find(name);
    return entry == entries_.end() ? otherwise : entry->second;
  }
  void set(std::string_view name, T value) { entries_[name] = std::move(value); }
  void clear() { entries_.clear(); }

 private:
  std::unordered_map<std::string_view, T> entries_;
  const NameScope* outer_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_NAME_SCOPE_H_
