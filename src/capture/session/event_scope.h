// Whether this thread is inside an event of a session.

#ifndef TENSORTAP_SESSION_EVENT_SCOPE_H_
#define TENSORTAP_SESSION_EVENT_SCOPE_H_

namespace tensortap {

// True while this thread is inside an event: what tensortap's own work makes the runtime do is no event of the program's.
inline thread_local bool inside_event = false;

class EventScope {
 public:
  EventScope() : entered_(!inside_event) { inside_event = true; }
  ~EventScope() {
    if (entered_) inside_event = false;
  }
  EventScope(const EventScope&) = delete;
  EventScope& operator=(const EventScope&) = delete;
  [[nodiscard]] bool entered() const { return entered_; }

 private:
  bool entered_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_EVENT_SCOPE_H_
