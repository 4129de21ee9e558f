#include "convert/trace_packets.h"

#include <cstddef>
#include <utility>

#include "base/protobuf.h"
#include "base/utf8.h"

namespace tensortap {
namespace {

// Fields of perfetto's messages (protos/perfetto/trace/perfetto_trace.proto).
namespace trace_field {
constexpr uint32_t kPacket = 1;
}
namespace packet_field {
constexpr uint32_t kTimestamp = 8;
constexpr uint32_t kSequenceId = 10;
constexpr uint32_t kTrackEvent = 11;
constexpr uint32_t kInternedData = 12;
constexpr uint32_t kSequenceFlags = 13;
constexpr uint32_t kTrackDescriptor = 60;
}  // namespace packet_field
namespace event_field {
constexpr uint32_t kCategoryIds = 3;
constexpr uint32_t kDebugAnnotations = 4;
constexpr uint32_t kType = 9;
constexpr uint32_t kNameId = 10;
constexpr uint32_t kTrack = 11;
constexpr uint32_t kCounterValue = 30;
constexpr uint32_t kDoubleCounterValue = 44;
}  // namespace event_field
namespace annotation_field {
constexpr uint32_t kNameId = 1;
constexpr uint32_t kInteger = 4;
constexpr uint32_t kText = 6;
constexpr uint32_t kTextId = 17;
}  // namespace annotation_field
namespace interned_field {
constexpr uint32_t kCategories = 1;
constexpr uint32_t kNames = 2;
constexpr uint32_t kAnnotationNames = 3;
constexpr uint32_t kAnnotationTexts = 29;
constexpr uint32_t kId = 1;
constexpr uint32_t kText = 2;
}  // namespace interned_field
namespace track_field {
constexpr uint32_t kTrack = 1;
constexpr uint32_t kName = 2;
constexpr uint32_t kProcess = 3;
constexpr uint32_t kThread = 4;
constexpr uint32_t kParent = 5;
constexpr uint32_t kCounter = 8;
constexpr uint32_t kProcessId = 1;
constexpr uint32_t kProcessName = 6;
constexpr uint32_t kThreadId = 2;
constexpr uint32_t kThreadName = 5;
constexpr uint32_t kCounterUnit = 3;
}  // namespace track_field

constexpr uint32_t kSequence = 1;
constexpr uint32_t kStateCleared = 1;
constexpr uint32_t kNeedsState = 2;
constexpr int32_t kTypeCounter = 4;
constexpr size_t kMostWaiting = size_t{1} << 20;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string as_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    valid += length > 0 ? text.substr(0, length) : kReplacement;
    text.remove_prefix(length > 0 ? length : 1);
  }
  return valid;
}

std::string named_track(uint64_t track, uint64_t parent, std::string_view name) {
  std::string descriptor;
  protozero::pbf_writer writer(descriptor);
  writer.add_uint64(track_field::kTrack, track);
  if (parent != 0) writer.add_uint64(track_field::kParent, parent);
  if (!name.empty()) writer.add_string(track_field::kName, as_utf8(name));
  return descriptor;
}

}  // namespace

Status TracePackets::add_process(uint64_t track, int32_t process, std::string_view name) {
  std::string descriptor = named_track(track, 0, "");
  protozero::pbf_writer writer(descriptor);
  protozero::pbf_writer about(writer, track_field::kProcess);
  about.add_int32(track_field::kProcessId, process);
  about.add_string(track_field::kProcessName, as_utf8(name));
  about.commit();
  return add_descriptor(descriptor);
}

Status TracePackets::add_thread(uint64_t track, int32_t process, int64_t thread, std::string_view name) {
  std::string descriptor = named_track(track, 0, "");
  protozero::pbf_writer writer(descriptor);
  protozero::pbf_writer about(writer, track_field::kThread);
  about.add_int32(track_field::kProcessId, process);
  about.add_int64(track_field::kThreadId, thread);
  about.add_string(track_field::kThreadName, as_utf8(name));
  about.commit();
  return add_descriptor(descriptor);
}

Status TracePackets::add_track(uint64_t track, uint64_t parent, std::string_view name) {
  return add_descriptor(named_track(track, parent, name));
}

Status TracePackets::add_counter(uint64_t track, uint64_t parent, std::string_view name, uint32_t unit) {
  std::string descriptor = named_track(track, parent, name);
  protozero::pbf_writer writer(descriptor);
  protozero::pbf_writer about(writer, track_field::kCounter);
  about.add_enum(track_field::kCounterUnit, static_cast<int32_t>(unit));
  about.commit();
  return add_descriptor(descriptor);
}

uint64_t TracePackets::intern(Names& names, std::string_view text, uint32_t field, std::string& interned) {
  const auto [place, is_new] = names.emplace(text, names.size() + 1);
  if (is_new) {
    protozero::pbf_writer writer(interned);
    protozero::pbf_writer entry(writer, field);
    entry.add_uint64(interned_field::kId, place->second);
    entry.add_string(interned_field::kText, as_utf8(text));
    entry.commit();
  }
  return place->second;
}

Status TracePackets::add(const TraceEvent& event) {
  std::string interned;
  std::string body;
  protozero::pbf_writer writer(body);
  writer.add_enum(event_field::kType, static_cast<int32_t>(event.type));
  writer.add_uint64(event_field::kTrack, event.track);
  if (event.type != TraceEventType::kEnd) {
    writer.add_uint64(event_field::kNameId, intern(names_, event.name, interned_field::kNames, interned));
    if (!event.category.empty()) {
      writer.add_uint64(event_field::kCategoryIds, intern(categories_, event.category, interned_field::kCategories, interned));
    }
  }
  for (const TraceNote& note : event.notes) {
    protozero::pbf_writer about(writer, event_field::kDebugAnnotations);
    about.add_uint64(annotation_field::kNameId, intern(note_names_, note.name, interned_field::kAnnotationNames, interned));
    if (const auto* number = std::get_if<int64_t>(&note.value)) {
      about.add_int64(annotation_field::kInteger, *number);
    } else if (const auto* text = std::get_if<std::string>(&note.value)) {
      about.add_string(annotation_field::kText, as_utf8(*text));
    } else {
      const auto repeated = std::get<std::string_view>(note.value);
      about.add_uint64(annotation_field::kTextId, intern(note_texts_, repeated, interned_field::kAnnotationTexts, interned));
    }
    about.commit();
  }
  std::string packet;
  protozero::pbf_writer whole(packet);
  whole.add_uint64(packet_field::kTimestamp, static_cast<uint64_t>(event.time_ns));
  if (!interned.empty()) whole.add_message(packet_field::kInternedData, interned);
  whole.add_message(packet_field::kTrackEvent, body);
  return add_packet(packet);
}

Status TracePackets::count(uint64_t track, int64_t time_ns, std::variant<int64_t, double> value) {
  std::string packet;
  protozero::pbf_writer whole(packet);
  whole.add_uint64(packet_field::kTimestamp, static_cast<uint64_t>(time_ns));
  protozero::pbf_writer writer(whole, packet_field::kTrackEvent);
  writer.add_enum(event_field::kType, kTypeCounter);
  writer.add_uint64(event_field::kTrack, track);
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    writer.add_int64(event_field::kCounterValue, *integer);
  } else {
    writer.add_double(event_field::kDoubleCounterValue, std::get<double>(value));
  }
  writer.commit();
  return add_packet(packet);
}

Status TracePackets::add_descriptor(const std::string& descriptor) {
  std::string packet;
  protozero::pbf_writer whole(packet);
  whole.add_message(packet_field::kTrackDescriptor, descriptor);
  return add_packet(packet);
}

Status TracePackets::add_packet(std::string& packet) {
  protozero::pbf_writer whole(packet);
  whole.add_uint32(packet_field::kSequenceId, kSequence);
  // Numbers of texts count from the first packet on.
  whole.add_uint32(packet_field::kSequenceFlags, begun_ ? kNeedsState : kStateCleared);
  begun_ = true;
  protozero::pbf_writer trace(waiting_);
  trace.add_message(trace_field::kPacket, packet);
  return waiting_.size() < kMostWaiting ? Status() : finish();
}

Status TracePackets::finish() {
  const Status status = write_(waiting_);
  waiting_.clear();
  return status;
}

}  // namespace tensortap
