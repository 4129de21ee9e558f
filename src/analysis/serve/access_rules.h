// AccessRules: who may ask the server of a web view (docs/web_view.md, "Who can read it").

#ifndef TENSORTAP_SERVE_ACCESS_RULES_H_
#define TENSORTAP_SERVE_ACCESS_RULES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap {

// What the rules look at in a request: the headers of these names, each as often as it was sent.
struct AskedBy {
  std::string_view method;
  std::vector<std::string> hosts;
  std::vector<std::string> origins;
  std::vector<std::string> authorizations;
  bool is_marked = false;  // X-Tensortap: 1, which no form of another site can send
  bool is_page = false;    // a file of the page, in which nothing is secret
};

// Immutable.
class AccessRules {
 public:
  // Who the browser may believe to ask. The server itself listens on this machine alone.
  struct Names {
    uint16_t port = 0;                // of 127.0.0.1 and localhost; 0 = any: the server has a socket in the file system, and is forwarded
    std::vector<std::string> others;  // "devbox", on any port, or "devbox:8443": names of proxies
  };
  // Errors: kIo when the system has no random bytes.
  static Result<AccessRules> make(Names names);
  AccessRules(std::string token, Names names);
  // Whether a text can be one of `others`.
  static bool is_host_name(std::string_view text);

  struct Decision {
    int status = 0;             // of the refusal; 0 = allowed
    std::string_view sentence;  // why it is refused
  };
  [[nodiscard]] Decision judge(const AskedBy& asked) const;
  // Whether the token is among the headers of a request's head. It says who may be waited for; judge() says who gets an answer.
  [[nodiscard]] bool knows(std::string_view head) const;

  // "/?token=..." of the first address. The page takes the token from there, and sends it as "Authorization: Bearer TOKEN".
  [[nodiscard]] std::string entrance() const;

 private:
  [[nodiscard]] bool knows_host(std::string_view host) const;
  [[nodiscard]] bool is_other(std::string_view host) const;
  [[nodiscard]] bool is_authorized(std::string_view authorization) const;

  std::string token_;
  Names names_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_ACCESS_RULES_H_
