// Showing a page of ours in the user's browser.

#ifndef TENSORTAP_CLI_LIVE_OPEN_BROWSER_H_
#define TENSORTAP_CLI_LIVE_OPEN_BROWSER_H_

#include <string>
#include <utility>

namespace tensortap::cli {

// A file, for the user alone, that leads a browser to an address: the address has a secret, and everybody can see the words that a program
// was started with. Removed when this object goes away. Move-only.
class BrowserPage {
 public:
  BrowserPage() = default;
  // Has `xdg-open` show it. Does nothing without a display, without xdg-open, or without a folder for the file; is_open() is then false.
  static BrowserPage open(const std::string& address);
  BrowserPage(BrowserPage&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  BrowserPage& operator=(BrowserPage&&) = delete;
  ~BrowserPage();
  [[nodiscard]] bool is_open() const { return !path_.empty(); }

 private:
  explicit BrowserPage(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LIVE_OPEN_BROWSER_H_
