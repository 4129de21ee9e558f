// tensortap._core.Dump: a DumpIndex, its rows and its data as arrays that share its memory.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "bindings.h"
#include "compare/comparison_json.h"
#include "compare/dump_comparison.h"
#include "compare/name_map.h"
#include "compare/op_edges.h"
#include "compare/tolerance_rules.h"
#include "find/ask_parts.h"
#include "find/chosen_records.h"
#include "find/find_report.h"
#include "find/trends_json.h"
#include "find/watch_json.h"
#include "query/record_json.h"
#include "query/row_columns.h"
#include "query/row_query.h"
#include "ranks/rank_groups.h"
#include "read/dump_parts.h"
#include "read/open_dump.h"
#include "shards/joined_dump.h"
#include "shards/shard_file.h"
#include "trace/dump_index.h"

namespace nb = nanobind;

namespace tensortap::python {

namespace {

using Bytes = nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>>;
using RowNumbers = nb::ndarray<nb::numpy, const uint32_t, nb::ndim<1>>;

// A path as Python's own functions take it.
nb::object path_to_str(std::string_view path) {
  return nb::steal(PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

std::string from_str(const nb::str& text) {
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (bytes.is_valid()) return {PyBytes_AsString(bytes.ptr()), static_cast<size_t>(PyBytes_Size(bytes.ptr()))};
  PyErr_Clear();
  throw StatusError{invalid_argument("the text has characters that UTF-8 does not have")};
}

}  // namespace

RowQuery query_of(const nb::dict& words) {
  RowQuery query;
  const std::pair<const char*, std::string*> members[] = {{"op", &query.op},     {"type", &query.type}, {"module", &query.module},
                                                          {"step", &query.step}, {"slot", &query.slot}, {"where", &query.where},
                                                          {"sort", &query.sort}};
  for (const auto& [name, text] : members) {
    if (words.contains(name)) *text = from_str(nb::cast<nb::str>(words[name]));
  }
  if (words.contains("last")) query.last = nb::cast<uint64_t>(words["last"]);
  return query;
}

namespace {

// What an array borrows from; it goes when the last array does.
struct Lifetime {
  std::shared_ptr<const DumpIndex> dump;
  std::shared_ptr<const void> data;
};

Bytes borrowed_bytes(const void* data, size_t size, Lifetime lifetime) {
  auto held = std::make_unique<Lifetime>(std::move(lifetime));
  const nb::capsule owner(held.get(), [](void* pointer) noexcept { delete static_cast<Lifetime*>(pointer); });
  held.release();  // NOLINT(bugprone-unused-return-value): the capsule has it
  return Bytes(static_cast<const uint8_t*>(data), {size}, owner);
}

class PythonDump {
 public:
  explicit PythonDump(std::shared_ptr<const DumpIndex> made) : dump_(std::move(made)) {}
  explicit PythonDump(const nb::bytes& path) {
    const std::string folder(path.c_str(), path.size());
    nb::gil_scoped_release release;
    dump_ = value_or_throw(open_dump(folder));
  }

  [[nodiscard]] const DumpIndex& index() const { return *dump_; }
  [[nodiscard]] const std::shared_ptr<const DumpIndex>& shared() const { return dump_; }
  [[nodiscard]] Bytes rows() const {
    const auto rows = dump_->rows();
    return borrowed_bytes(rows.data(), rows.size_bytes(), {dump_, nullptr});
  }
  [[nodiscard]] nb::tuple data(size_t row) const;
  [[nodiscard]] size_t checked(size_t row) const {
    if (row >= dump_->rows().size()) throw StatusError{not_found("no such record: " + std::to_string(row))};
    return row;
  }

 private:
  std::shared_ptr<const DumpIndex> dump_;
};

nb::tuple PythonDump::data(size_t row) const {
  const RecordData record = value_or_throw(dump_->data(checked(row)));
  const TensorDesc& desc = record.view.desc;
  nb::list shape;
  for (const int64_t size : desc.shape.dims()) shape.append(size);
  const uint64_t count = desc.shape.numel().value_or(0);
  const int number = static_cast<int>(desc.dtype);
  if (desc.dtype == DType::kString) {
    nb::list texts;
    const auto* elements = static_cast<const StringElement*>(record.view.data);
    for (uint64_t i = 0; i < count; ++i) texts.append(nb::bytes(elements[i].data, elements[i].size));
    return nb::make_tuple(number, shape, texts);
  }
  const uint64_t size = packed_bytes(desc.dtype, count).value_or(0);
  if (record.view.is_contiguous()) return nb::make_tuple(number, shape, borrowed_bytes(record.view.data, size, {dump_, record.owner}));
  auto copy = std::make_shared<std::vector<std::byte>>(size);
  copy_packed(record.view, copy->data());
  return nb::make_tuple(number, shape, borrowed_bytes(copy->data(), size, {dump_, copy}));
}

// Axis (-1: no channels), elements of a channel, rows of sketch_channels.npy as bytes, size of a block (0: no blocks), counts of blocks.
nb::object sketch_of(const PythonDump& dump, size_t row) {
  const SketchState state{dump.index().rows()[dump.checked(row)].sketch};
  if (!has_sketch(state)) return nb::none();
  const Result<TensorSketch> found = dump.index().sketch(row);
  if (found.status().code() == StatusCode::kNotFound && state != SketchState::kThere) return nb::none();
  const TensorSketch sketch = value_or_throw(found);
  const nb::bytes channels(reinterpret_cast<const char*>(sketch.channels.data()), sketch.channels.size() * sizeof(ChannelSums));
  const BlockCounts& counts = sketch.blocks;
  std::vector<uint64_t> numbers(std::begin(counts.bins), std::end(counts.bins));
  numbers.insert(numbers.end(), {counts.zero, counts.nan, counts.inf, counts.nonzero});
  numbers.insert(numbers.end(), std::begin(counts.underflow), std::end(counts.underflow));
  return nb::make_tuple(sketch.axis, sketch.channel_elements, channels, sketch.block, numbers);
}

nb::object id_or_none(OpId id) { return id == kNoOp ? nb::none() : nb::cast(id); }

nb::dict op_fields(const OpInfo& op) {
  nb::dict fields;
  fields["name"] = to_str(op.name);
  fields["type"] = to_str(op.type);
  fields["domain"] = to_str(op.domain);
  fields["graph"] = to_str(op.graph);
  fields["module"] = to_str(op.module);
  fields["source"] = to_str(op.source_location);
  fields["inserted_by_runtime"] = op.inserted_by_runtime;
  fields["level"] = to_str(std::string(level_name(op.level)));
  fields["parent"] = id_or_none(op.parent);
  fields["attributes"] = to_str(op.attributes);
  nb::list originals;
  for (const OriginalNode& node : op.originals) originals.append(nb::make_tuple(to_str(node.name), to_str(node.type)));
  fields["originals"] = originals;
  nb::list inputs;
  for (const OpInput& input : op.inputs) {
    inputs.append(nb::make_tuple(to_str(input.name), id_or_none(input.producer), input.producer_slot));
  }
  fields["inputs"] = inputs;
  nb::list outputs;
  for (const std::string& name : op.outputs) outputs.append(to_str(name));
  fields["outputs"] = outputs;
  return fields;
}

nb::list all_ops(const PythonDump& dump) {
  nb::list ops;
  for (const OpInfo& op : dump.index().ops()) ops.append(op_fields(op));
  return ops;
}

nb::object row_name(const PythonDump& dump, size_t row) {
  const RecordRow& found = dump.index().rows()[dump.checked(row)];
  return to_str(record_name(found, op_of(dump.index(), found).name));
}

size_t find_row(const PythonDump& dump, const nb::str& record) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  const std::string text = from_str(record);
  RecordKey key;
  if (!parse_record_name(text, key))
    throw StatusError{invalid_argument("write a record as OP:SLOT, with @STEP and #CALL when not the first")};
  Result<size_t> found = find_record(dump.index(), key);
  // The name as row_name() shows it, of bytes that are no UTF-8.
  const size_t rows = found.ok() || text.find(kReplacement) == std::string::npos ? 0 : dump.index().rows().size();
  for (size_t row = 0; row < rows; ++row) {
    if (row_name(dump, row).equal(record)) return row;
  }
  return value_or_throw(std::move(found));
}

// The numbers of the rows that a query chooses. A limit of 0 is none. Error: names that no record has.
RowNumbers select(const PythonDump& dump, const nb::dict& words, size_t offset, size_t limit) {
  RowQuery query = query_of(words);
  query.offset = offset;
  query.limit = limit;
  auto rows = std::make_unique<std::vector<uint32_t>>(value_or_throw([&]() -> Result<std::vector<uint32_t>> {
    const nb::gil_scoped_release release;
    auto chosen = select_rows(dump.index(), query);
    const DumpIndex* const dumps[] = {&dump.index()};
    const std::vector<std::string> unmatched = chosen.ok() && chosen->empty() ? unmatched_names(dumps, query) : std::vector<std::string>();
    if (!unmatched.empty()) return not_found(join(unmatched, "; "));
    return chosen;
  }()));
  const nb::capsule owner(rows.get(), [](void* pointer) noexcept { delete static_cast<std::vector<uint32_t>*>(pointer); });
  const std::vector<uint32_t>& kept = *rows.release();  // the capsule has it
  return RowNumbers(kept.data(), {kept.size()}, owner);
}

// The name of each column and the Stat bits that its values need.
std::vector<std::tuple<std::string, uint32_t>> columns_of_rows() {
  std::vector<std::tuple<std::string, uint32_t>> columns;
  for (const RowColumn& column : row_columns()) columns.emplace_back(column.name, column.stats);
  return columns;
}

// An answer says how far it holds.
std::string with_state(Json answer, const PythonDump& dump) {
  answer["dump"] = completeness_json(dump.index().completeness());
  return to_json_text(answer);
}

std::string find_in(const PythonDump& dump, const nb::str& source, size_t limit) {
  const std::string place = from_str(source);
  if (place.empty()) return with_state(find_report(dump.index(), limit), dump);
  return with_state(value_or_throw(find_source(dump.index(), place)), dump);
}

// Without the lock of the interpreter: data may be read for long.
std::string trends_in(const PythonDump& dump, const nb::dict& words, size_t limit) {
  const RowQuery query = query_of(words);
  const nb::gil_scoped_release release;
  return with_state(value_or_throw(chosen_trends_json(dump.index(), query, limit)), dump);
}

WatchQuestion watch_question(const nb::list& conditions, const nb::dict& words) {
  const RowQuery query = query_of(words);
  WatchQuestion question{{}, query.op, query.step, query.type, query.module, query.last};
  for (const nb::handle condition : conditions) question.conditions.push_back(from_str(nb::cast<nb::str>(condition)));
  return question;
}

std::string watch_in(const PythonDump& dump, const nb::list& conditions, const nb::dict& words, size_t limit) {
  const WatchQuestion question = watch_question(conditions, words);
  const nb::gil_scoped_release release;
  return with_state(value_or_throw(chosen_watch_json(dump.index(), question, limit)), dump);
}

// The answer about the dump at a path, and about all of its parts where it has several; `part` chooses among them.
std::string answer_of(const nb::bytes& path, const nb::str& part, const std::function<Result<Json>(const DumpIndex&)>& ask,
                      const std::function<bool(const Json&)>& finds) {
  const std::string folder(path.c_str(), path.size());
  const std::string words = from_str(part);
  const nb::gil_scoped_release release;
  const std::vector<DumpPart> parts = value_or_throw(find_parts(folder));
  const std::vector<DumpPart> chosen = value_or_throw(chosen_parts(parts, words));
  return to_json_text(value_or_throw(answer_json(chosen, parts.size() > 1, {open_dump, ask, finds})));
}

std::string find_at(const nb::bytes& path, const nb::str& part, const nb::str& source, size_t limit) {
  const std::string place = from_str(source);
  if (!place.empty()) {
    return answer_of(
        path, part, [&](const DumpIndex& dump) { return find_source(dump, place); }, [](const Json&) { return false; });
  }
  return answer_of(
      path, part, [limit](const DumpIndex& dump) { return Result<Json>(find_report(dump, limit)); }, has_finding);
}

std::string trends_at(const nb::bytes& path, const nb::str& part, const nb::dict& words, size_t limit) {
  const RowQuery query = query_of(words);
  return answer_of(
      path, part, [&](const DumpIndex& dump) { return chosen_trends_json(dump, query, limit); }, finds_trend);
}

std::string watch_at(const nb::bytes& path, const nb::str& part, const nb::tuple& asked, size_t limit) {
  const auto [conditions, words] = nb::cast<std::tuple<nb::list, nb::dict>>(asked);
  const WatchQuestion question = watch_question(conditions, words);
  return answer_of(
      path, part, [&](const DumpIndex& dump) { return chosen_watch_json(dump, question, limit); }, has_hits);
}

nb::list parts_at(const nb::bytes& path) {
  nb::list list;
  for (const DumpPart& part : value_or_throw(find_parts({path.c_str(), path.size()}))) {
    list.append(nb::make_tuple(to_str(part.name), to_str(part.role), path_to_str(part.path)));
  }
  return list;
}

// Rows, values without a partner and the summary, as JSON.
nb::tuple compare_with(const PythonDump& a, const PythonDump& b, const std::vector<std::tuple<const PythonDump*, std::string>>& noise,
                       const nb::dict& words) {
  const auto word = [&words](const char* name) { return from_str(nb::cast<nb::str>(words[name])); };
  ComparisonOptions options;
  options.map_name = word("map_name");
  options.map = value_or_throw(parse_name_map(word("map"), options.map_name));
  options.steps = value_or_throw(parse_step_pairs(word("steps")));
  std::optional<ToleranceRules> rules;
  if (const std::string name = word("rules_name"); !name.empty()) rules = value_or_throw(ToleranceRules::parse(word("rules"), name));
  options.rules = rules ? &*rules : nullptr;
  for (const auto& [one, of] : noise) {
    options.noise.push_back({&one->index(), of == "a" ? NoiseDump::Of::kA : of == "b" ? NoiseDump::Of::kB : NoiseDump::Of::kEither});
  }
  const std::string name_a = word("a");
  const std::string name_b = word("b");
  std::vector<std::string> rows;
  std::vector<std::string> unpaired;
  std::string summary;
  {
    const nb::gil_scoped_release release;
    const std::unique_ptr<DumpComparison> comparison = value_or_throw(DumpComparison::make(a.index(), b.index(), std::move(options)));
    comparison->run([&](const ComparedValue& value) { rows.push_back(to_json_text(compared_json(*comparison, value))); });
    for (const Unpaired& one : comparison->unpaired_a()) unpaired.push_back(to_json_text(unpaired_json(*comparison, one, true)));
    for (const Unpaired& one : comparison->unpaired_b()) unpaired.push_back(to_json_text(unpaired_json(*comparison, one, false)));
    Json of_both = summary_json(*comparison);
    const NamedCompleteness states[] = {{name_a, a.index().completeness()}, {name_b, b.index().completeness()}};
    of_both["summary"]["dump"] = completeness_json(states);
    summary = to_json_text(of_both);
  }
  return nb::make_tuple(rows, unpaired, summary);
}

// A job whose ranks hold shards as one dump. `file` is the text of --shards, "" for none.
PythonDump join_job(const nb::bytes& job, const nb::str& file, const nb::str& name, const std::vector<std::string>& groups,
                    const PythonDump& reference) {
  std::optional<ShardFile> shards;
  if (const std::string text = from_str(file); !text.empty()) shards = value_or_throw(ShardFile::parse(text, from_str(name)));
  const ShardRequest request{shards ? &*shards : nullptr, value_or_throw(parse_rank_groups(groups))};
  const std::string folder(job.c_str(), job.size());
  const nb::gil_scoped_release release;
  return PythonDump(std::shared_ptr<const DumpIndex>(value_or_throw(join_shards(folder, request, reference.index()))));
}

// (maker, output, reader) of ops
std::vector<std::tuple<OpId, uint32_t, OpId>> edges_of(const PythonDump& dump) {
  std::vector<std::tuple<OpId, uint32_t, OpId>> edges;
  for (const OpEdge& edge : op_edges(dump.index())) edges.emplace_back(edge.maker, edge.slot, edge.reader);
  return edges;
}

// None where the dump has none.
nb::object document_of(const PythonDump& dump, const std::string& name) {
  Result<std::string> text = dump.index().document(name);
  if (text.status().code() == StatusCode::kNotFound) return nb::none();
  const std::string content = value_or_throw(std::move(text));
  return nb::bytes(content.data(), content.size());
}

nb::list problems_of(const PythonDump& dump) {
  nb::list problems;
  for (const std::string& problem : dump.index().problems()) problems.append(to_str(problem));
  return problems;
}

}  // namespace

nb::object to_str(std::string_view text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

void bind_dump(nb::module_& module) {
  module.def("row_columns", columns_of_rows);
  module.def("underflow_formats", [] {
    std::vector<std::string> names;
    for (const UnderflowFormat& format : kUnderflowFormats) names.emplace_back(format.name);
    return names;
  });
  nb::class_<PythonDump>(module, "Dump")
      .def(nb::init<const nb::bytes&>())
      .def_prop_ro("layout", [](const PythonDump& dump) { return std::string(dump.index().layout()); })
      .def_prop_ro("manifest", [](const PythonDump& dump) { return to_str(dump.index().manifest()); })
      .def_prop_ro("completeness",
                   [](const PythonDump& dump) { return to_str(to_json_text(completeness_json(dump.index().completeness()))); })
      .def("document", document_of)
      .def_prop_ro("problems", problems_of)
      .def_prop_ro("unknown_columns",
                   [](const PythonDump& dump) {
                     std::vector<std::string> names = dump.index().unknown_columns();
                     for (std::string& name : names) name = replace_broken_utf8(name);
                     return names;
                   })
      .def_prop_ro("row_count", [](const PythonDump& dump) { return dump.index().rows().size(); })
      .def("rows", &PythonDump::rows)
      .def("ops", all_ops)
      .def("select", select)
      .def("arrow_stream", [](const PythonDump& dump) { return arrow_stream_of(dump.shared()); })
      .def("frame", [](const PythonDump& dump) { return frame_of(dump.index()); })
      .def("find", find_row)
      .def("name", row_name)
      .def("file", [](const PythonDump& dump, size_t row) { return path_to_str(dump.index().file(dump.checked(row))); })
      .def("record", [](const PythonDump& dump, size_t row) { return to_json_text(record_json(dump.index(), dump.checked(row))); })
      .def("histogram", [](const PythonDump& dump, size_t row) { return dump.index().histogram(dump.checked(row)); })
      .def("sketch", sketch_of)
      .def("data", &PythonDump::data)
      .def("find_report", find_in)
      .def("trends_report", trends_in)
      .def("watch_report", watch_in)
      .def("edges", edges_of);
  module.def("find_report", find_at);
  module.def("trends_report", trends_at);
  module.def("watch_report", watch_at);
  module.def("dump_parts", parts_at);
  module.def("compare", compare_with);
  module.def("join_shards", join_job);
  module.def("noise_dumps", [](const nb::bytes& path) {
    nb::list folders;
    for (const std::string& folder : noise_dumps({path.c_str(), path.size()})) folders.append(nb::bytes(folder.data(), folder.size()));
    return folders;
  });
}

}  // namespace tensortap::python
