// protozero with its assertions turned into exceptions: a field of the wrong wire type in a hostile file must be an error, not an abort.
// Include this instead of <protozero/...>, everywhere: the library is header-only, so all users must see the same definitions.

#ifndef TENSORTAP_BASE_PROTOBUF_H_
#define TENSORTAP_BASE_PROTOBUF_H_

#include <protozero/exception.hpp>

#define protozero_assert(condition) ((condition) ? static_cast<void>(0) : throw protozero::unknown_pbf_wire_type_exception{})

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#endif  // TENSORTAP_BASE_PROTOBUF_H_
