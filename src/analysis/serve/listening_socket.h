// Sockets that a server listens on: on this machine alone.

#ifndef TENSORTAP_SERVE_LISTENING_SOCKET_H_
#define TENSORTAP_SERVE_LISTENING_SOCKET_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace tensortap {

struct ListeningSocket {
  int socket = -1;
  uint16_t port = 0;
};

// On 127.0.0.1; 0 = a port that is free. Errors: kInvalidArgument for a port that is taken or may not be used; kIo.
Result<ListeningSocket> listen_on_port(uint16_t port);
// A socket in the file system, which its owner alone may use. It replaces one that a killed server left. Errors: kInvalidArgument for a
// path that is too long, exists, or cannot be made; kIo.
Result<ListeningSocket> listen_on_path(const std::string& path, uint16_t port);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_LISTENING_SOCKET_H_
