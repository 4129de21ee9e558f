// Status and Result<T>: how every function of tensortap that can fail reports a failure. Our own code throws nothing.
//
// A code is for programs. The message is for people: the problem, where it is (file:line:column, JSON path) and what to do.
// The numbers equal enum tensortap_status in include/tensortap/capture.h.

#ifndef TENSORTAP_BASE_STATUS_H_
#define TENSORTAP_BASE_STATUS_H_

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tensortap {

enum class StatusCode {
  kOk = 0,
  kInvalidArgument = 1,  // wrong usage, wrong config
  kNotFound = 2,
  kUnsupported = 3,
  kCorrupt = 4,    // a file whose content does not match its format
  kIo = 5,         // the operating system said no
  kExhausted = 6,  // a disk or memory budget is full
  kInternal = 7,
};

// Immutable once made. Thread-compatible.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] bool ok() const { return code_ == StatusCode::kOk; }
  [[nodiscard]] StatusCode code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }

  // The number that another system, whose language we read, gives to this failure; 0 = none.
  [[nodiscard]] int32_t foreign_code() const { return foreign_code_; }
  [[nodiscard]] Status with_foreign_code(int32_t code) const {
    Status same = *this;
    same.foreign_code_ = code;
    return same;
  }

  // What the operating system called it (errno); 0 = it was not asked.
  [[nodiscard]] int system_error() const { return system_error_; }
  [[nodiscard]] Status with_system_error(int error) const {
    Status same = *this;
    same.system_error_ = error;
    return same;
  }

  // The same failure seen from further out: "reading rank 3: " + message. Ok stays ok.
  [[nodiscard]] Status with_context(std::string_view context) const {
    if (ok()) return *this;
    Status outer = *this;
    outer.message_ = std::string(context) + ": " + message_;
    return outer;
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  int32_t foreign_code_ = 0;
  int system_error_ = 0;
  std::string message_;
};

inline Status invalid_argument(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }
inline Status not_found(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }
inline Status unsupported(std::string message) { return {StatusCode::kUnsupported, std::move(message)}; }
inline Status corrupt(std::string message) { return {StatusCode::kCorrupt, std::move(message)}; }
inline Status io_error(std::string message) { return {StatusCode::kIo, std::move(message)}; }
inline Status exhausted(std::string message) { return {StatusCode::kExhausted, std::move(message)}; }
inline Status internal_error(std::string message) { return {StatusCode::kInternal, std::move(message)}; }

// A value or the Status that says why there is none. Ask ok() before *result.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                                  // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const { return status_; }

  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace tensortap

// Returns from the current function when `expression` is a Status that is not ok.
#define TENSORTAP_RETURN_IF_ERROR(expression)                                                        \
  do {                                                                                               \
    if (::tensortap::Status status_or_ok_ = (expression); !status_or_ok_.ok()) return status_or_ok_; \
  } while (false)

#define TENSORTAP_CONCAT_INNER_(a, b) a##b
#define TENSORTAP_CONCAT_(a, b) TENSORTAP_CONCAT_INNER_(a, b)
#define TENSORTAP_ASSIGN_OR_RETURN_(holder, target, expression) \
  auto holder = (expression);                                   \
  if (!holder.ok()) return holder.status();                     \
  target = *std::move(holder)
// TENSORTAP_ASSIGN_OR_RETURN(auto file, File::open(path)); returns the failure, or assigns the value.
#define TENSORTAP_ASSIGN_OR_RETURN(target, expression) TENSORTAP_ASSIGN_OR_RETURN_(TENSORTAP_CONCAT_(result_, __LINE__), target, expression)

#endif  // TENSORTAP_BASE_STATUS_H_
