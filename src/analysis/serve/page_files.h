// The page of the web view: the files of web/dist, which are part of the program.

#ifndef TENSORTAP_SERVE_PAGE_FILES_H_
#define TENSORTAP_SERVE_PAGE_FILES_H_

#include <string_view>

namespace tensortap {

// The content of "index.html", "icon.svg", "app.js" or "app.css"; "" for any other name. cmake/embed_files.cmake makes the source.
std::string_view page_file(std::string_view name);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_PAGE_FILES_H_
