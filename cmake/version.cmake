# Sets tensortap_version to that of the changelog's newest heading, "## 0.1.0 (2026-11-25)" or "## Unreleased (0.1.0)". pyproject.toml reads the same line.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../CHANGELOG.md tensortap_version REGEX "^## .*[0-9]+\\.[0-9]+\\.[0-9]+" LIMIT_COUNT 1)
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" tensortap_version "${tensortap_version}")
if(NOT tensortap_version)
  message(FATAL_ERROR "tensortap: CHANGELOG.md has no heading with a version, such as '## Unreleased (0.1.0)'.")
endif()
