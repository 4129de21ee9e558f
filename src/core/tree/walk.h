// Walks the tree of another system: opens folders and mapping.csv, keeps to the limits, and counts what it skips. A grammar defines what
// names mean and how problems are reported.

#ifndef TENSORTAP_TREE_WALK_H_
#define TENSORTAP_TREE_WALK_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tree/folder_names.h"
#include "tree/problems.h"

namespace tensortap {

enum class Confidence : uint8_t;  // layout/layout.h

// A folder, and what the names around it tell. Does not move once it is in a Tree: views lead into it.
struct TreeFolder {
  std::string path;      // to open
  std::string relative;  // to the folder that was opened, "" for that one
  std::string dump;      // the dump that it belongs to, "" = none known
  std::string model;
  std::string graph;
  int64_t step = 0;
  int32_t rank = 0;
  uint8_t level = 0;  // these two are the grammar's own
  uint8_t flags = 0;
  // What lies in it.
  std::string_view statistics;               // name of the table of statistics, "" = none
  std::vector<std::string_view> companions;  // names of files
  std::string names;                         // file names, one after another
  std::string mapping;                       // content of mapping.csv
};

struct TreeFile {
  uint32_t folder = 0;      // in Tree::folders
  std::string_view stored;  // its name on disk
  std::string_view name;    // its real name: the same, or the one in mapping.csv
};

struct Tree {
  std::deque<TreeFolder> folders;              // with files or statistics
  std::vector<TreeFile> files;                 // those of one folder are together
  std::vector<std::string> companion_folders;  // paths
};

enum class FileRole : uint8_t {
  kTensors,
  kStatistics,  // noted with the folder
  kMapping,
  kMapped,       // only mapping.csv explains it; left out if it does not
  kNumbered,     // the same, but it keeps its own name if mapping.csv does not know it
  kMaybeMapped,  // foreign if mapping.csv does not know it
  kCompanion,
  kUnread,  // of a dump, in a form that is not read
  kNoFile,
  kForeign
};

enum class FolderRole : uint8_t {
  kPart,      // walked, and what is in it proves a dump
  kWalked,    // walked only
  kUnproven,  // walked if something in it proves a dump
  kCompanion,
  kForeign
};

// One possible meaning of a folder that is opened.
struct TreePlace {
  TreeFolder folder;    // without its paths
  bool certain = true;  // otherwise a proof makes it Confidence::kMaybe
};

// Something that is left out. The views are valid for the call.
struct TreeTrouble {
  enum class What : uint8_t {
    kFolder,       // it cannot be read: `text`
    kDeep,         // it is too deep
    kManyFiles,    // `count` are in the tree
    kNoFile,       // a pipe, a device, a socket, a link to nowhere
    kMapping,      // it cannot be read: `text`
    kMappingLine,  // `text` explains no file
    kUnmapped,     // mapping.csv does not know the file
    kUnread,       // `count` files of a folder, the first one called `text`
    kForeign,      // `count` entries of a folder, the first ones called `text`
    kAllForeign    // `count` entries of the tree; `path` is the first one
  } what;
  std::string_view path;  // relative to the folder that was opened
  std::string_view text = "";
  size_t count = 0;
};

// Reports folders, entries that are neither file nor folder, and foreign entries in the usual words, and nothing else.
void report_trouble(const TreeTrouble& trouble, TreeProblems& problems);

// How one layout's tree is read. Functions over names.
struct TreeGrammar {
  // Where in a tree a folder may be, from its path; the first place that its content proves counts.
  std::vector<TreePlace> (*places)(const std::string& path);
  // Returns the role of the folder `name`. `below` has its paths and is otherwise a copy of `above`; sets in it what the name changes.
  FolderRole (*enter)(const TreeFolder& above, std::string_view name, TreeFolder& below);
  FileRole (*role)(const TreeFolder& folder, std::string_view name, EntryKind kind);
  // Whether the names in a folder, or files that it opens, are of a dump.
  bool (*proves)(const TreeFolder& folder, const FolderNames& names);
  // Whether mapping.csv may give a file this name. Null: any.
  bool (*explains)(std::string_view name) = nullptr;
  void (*tell)(const TreeTrouble& trouble, TreeProblems& problems);
  // The message of kNotFound where no place is proven; "" = no place needs a proof to be walked.
  std::string_view missing = "";
  size_t most_inside = SIZE_MAX;  // of the folders in one that are looked into for a proof
  size_t most_files = SIZE_MAX;   // in a tree
  uint64_t largest_mapping = uint64_t{256} << 20;
  int deepest = 8;            // folders below the one that is opened that are walked
  bool folders_once = false;  // one that links lead to again is left out: in a deep tree such links could make the ways countless
};

// Whether the folder is in a tree, or holds one. Looks at 4,096 names in each of 64 folders.
Confidence recognise_tree(const TreeGrammar& grammar, const std::string& folder);

// Everything below `folder`, eight folders deep, opening mapping.csv only. Files come as the file system has them, folders in the order of
// their names. Errors: kNotFound, kIo when the folder cannot be read.
Result<Tree> walk_tree(const TreeGrammar& grammar, const std::string& folder, TreeProblems& problems);

// The parts of the folder's path without links; of the path as it is when it does not exist.
std::vector<std::string> real_parts(const std::string& folder);

// The name in the folder, relative to the folder that was opened.
std::string relative_to_tree(const TreeFolder& folder, std::string_view name);

}  // namespace tensortap

#endif  // TENSORTAP_TREE_WALK_H_
