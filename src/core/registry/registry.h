// The tables of all systems, their dialects and layouts, and of all formats: the only folder that knows them all. Plain constant tables, no
// static initialisers.

#ifndef TENSORTAP_REGISTRY_REGISTRY_H_
#define TENSORTAP_REGISTRY_REGISTRY_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/format.h"
#include "layout/layout.h"
#include "system/system.h"

namespace tensortap {

std::span<const System> systems();
std::span<const Layout> layouts();
const Layout* find_layout(std::string_view name);  // null when there is none
std::vector<std::string> written_layouts();        // names of those that are not read only
std::span<const Dialect> dialects();
const Dialect* find_dialect(std::string_view name);
std::span<const Format> formats();
const Format* find_format(std::string_view name);

// The dialect whose configs look like `text`; null when none does. Empty text is the native dialect.
const Dialect* recognise_dialect(std::string_view text);
// Reads a config: in the dialect that is named, otherwise in the one that `text` looks like. JSON that no dialect knows is read as the
// native one, whose messages name the problem and its place. Errors: kInvalidArgument, "name:line:column: what" where there is a position.
Result<CaptureSpec> read_config(std::string_view text, std::string_view name, std::string_view dialect = {},
                                const DialectOptions& options = {});

// Whether the spec's layout exists, reads every layout option, accepts its value, writes every extra file and has the profile. `text` and
// `name` are the config that the spec was read from, for positions in messages; both may be empty. read_config() has checked this already.
// Errors: kInvalidArgument naming the wrong word, what is valid, and the nearest valid word.
Status check_target(const CaptureSpec& spec, std::string_view text = {}, std::string_view name = {});

// The part of it about what the layout keeps: a dump would be empty where it keeps nothing of the payload.
Status check_payload(const Layout& layout, const CaptureSpec& spec, std::string_view text = {}, std::string_view name = {});

// Takes out what only the layout of the spec's config understands, for a spec that gets another one.
void leave_layout(CaptureSpec& spec);

// The full profile, with its device. Errors: kInvalidArgument naming the known profiles when no system has this one.
Result<std::string> complete_profile(std::string_view profile);

}  // namespace tensortap

#endif  // TENSORTAP_REGISTRY_REGISTRY_H_
