// The C functions of acl_base.h: data buffers, number formats, the log.

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "base/message.h"
#include "base/text.h"
#include "source/acl/element_kinds.h"
#include "source/acl/failure.h"
#include "source/acl/live_handles.h"
#include "source/acl/objects.h"

namespace tensortap::acl_source {
namespace {

constexpr size_t kLongestLogLine = 4096;

void write_log_line(aclLogLevel level, const std::string& place, const char* text) {
  static constexpr std::array kLevels = {"DEBUG", "INFO", "WARNING", "ERROR"};
  const char* const name = level >= ACL_DEBUG && level <= ACL_ERROR ? kLevels[static_cast<size_t>(level)] : "LOG";
  write_to_stderr(concat("[", name, "] ", place, " ", text, "\n"));
}

}  // namespace
}  // namespace tensortap::acl_source

using tensortap::acl_source::answer;
using tensortap::acl_source::answer_or;
using tensortap::acl_source::bad_handle;
using tensortap::acl_source::fail;
using tensortap::acl_source::live;

extern "C" {

size_t aclDataTypeSize(aclDataType dataType) { return tensortap::acl_source::element_bits(dataType) / 8; }

float aclFloat16ToFloat(aclFloat16 value) { return tensortap::acl_source::half_to_float(value); }

aclFloat16 aclFloatToFloat16(float value) { return tensortap::acl_source::float_to_half(value); }

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  return answer_or<aclDataBuffer*>(nullptr, [&] {
    return live<aclDataBuffer>().add(std::make_shared<aclDataBuffer>(aclDataBuffer{data, size}));
  });
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return answer([&]() -> aclError {
    if (!live<aclDataBuffer>().remove(dataBuffer)) return bad_handle("data buffer");
    return ACL_SUCCESS;
  });
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return answer([&]() -> aclError {
    const auto buffer = live<aclDataBuffer>().find(dataBuffer);
    if (!buffer) return bad_handle("data buffer");
    buffer->data = data;
    buffer->size = size;
    return ACL_SUCCESS;
  });
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  return answer_or<void*>(nullptr, [&] {
    const auto buffer = live<aclDataBuffer>().find(dataBuffer);
    return buffer ? buffer->data : nullptr;
  });
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) { return static_cast<uint32_t>(aclGetDataBufferSizeV2(dataBuffer)); }

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return answer_or<size_t>(0, [&] {
    const auto buffer = live<aclDataBuffer>().find(dataBuffer);
    return buffer ? buffer->size : 0;
  });
}

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line, const char* fmt, ...) {
  if (fmt == nullptr) return;
  std::array<char, tensortap::acl_source::kLongestLogLine> text{};
  va_list arguments;
  va_start(arguments, fmt);
  vsnprintf(text.data(), text.size(), fmt, arguments);
  va_end(arguments);
  answer([&]() -> aclError {
    const std::string place = tensortap::concat(file != nullptr ? file : "?", ":", line, " ", func != nullptr ? func : "?");
    tensortap::acl_source::write_log_line(logLevel, place, text.data());
    return ACL_SUCCESS;
  });
}
}
