#include "source/pytorch/identity/moved_module.h"

#include "source/pytorch/identity/module_table.h"

namespace tensortap::pytorch {
namespace {

bool is_inside(const std::string& path, const std::string& root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '.');
}

}  // namespace

std::string moved(const std::string& path, const std::string& from, const std::string& to) {
  if (from.empty() || !is_inside(path, from)) return path;
  return to.empty() && path.size() > from.size() ? path.substr(from.size() + 1) : to + path.substr(from.size());
}

ModuleId moved_module(ModuleId module, ModuleId from, ModuleId to) {
  if (module == 0 || from == 0 || to == 0 || from == to) return module;
  return number_of_path(moved(module_path(module), module_path(from), module_path(to)));
}

}  // namespace tensortap::pytorch
