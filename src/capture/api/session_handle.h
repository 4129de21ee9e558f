// What tensortap_session points to, for the files that implement the C interface.

#ifndef TENSORTAP_API_SESSION_HANDLE_H_
#define TENSORTAP_API_SESSION_HANDLE_H_

#include <tensortap/capture.h>

#include <memory>
#include <string>

#include "api/config_follower.h"
#include "api/session_control.h"
#include "session/capture_session.h"

struct tensortap_session {
  std::unique_ptr<tensortap::CaptureSession> session;
  std::unique_ptr<tensortap::ConfigFollower> follower;  // null: no config is followed
  std::unique_ptr<tensortap::SessionControl> control;   // null: the session was off from the start
};

namespace tensortap {

inline std::string text_of(const char* text) { return text == nullptr ? std::string() : std::string(text); }

inline CaptureSession* session_of(tensortap_session* session) { return session == nullptr ? nullptr : session->session.get(); }

// Looks at a followed config when it is time; what it says then counts from the step that begins next on.
void follow_config(CaptureSession& session, ConfigFollower& follower);

}  // namespace tensortap

#endif  // TENSORTAP_API_SESSION_HANDLE_H_
