#define _GNU_SOURCE
#include "source/preload/symbol_search.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

/* The dynamic symbol table of a loaded object. */
struct tables {
  const ElfW(Sym) * symbols;
  const char* strings;
  const uint32_t* gnu_hash;
  const uint32_t* hash;
};

static const void* address_in(ElfW(Addr) base, ElfW(Addr) value) {
  /* glibc has most of these relocated in place, other loaders leave them as offsets. */
  return (const void*)(value < base ? base + value : value);
}

static struct tables tables_of(ElfW(Addr) base, const ElfW(Dyn) * entry) {
  struct tables found = {NULL, NULL, NULL, NULL};
  for (; entry != NULL && entry->d_tag != DT_NULL; ++entry) {
    const void* address = address_in(base, entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) found.symbols = address;
    if (entry->d_tag == DT_STRTAB) found.strings = address;
    if (entry->d_tag == DT_GNU_HASH) found.gnu_hash = address;
    if (entry->d_tag == DT_HASH) found.hash = address;
  }
  return found;
}

int is_same(const char* one, const char* other) {
  while (*one != '\0' && *one == *other) ++one, ++other;
  return *one == *other;
}

static int is_wanted(const struct tables* tables, uint32_t number, const char* name) {
  const ElfW(Sym)* symbol = &tables->symbols[number];
  return symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 15) == STT_FUNC && is_same(tables->strings + symbol->st_name, name);
}

/* Number of the symbol, 0 = not there. */
static uint32_t find_by_gnu_hash(const struct tables* tables, const char* name) {
  uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + (unsigned char)*c;
  const uint32_t buckets = tables->gnu_hash[0];
  const uint32_t first = tables->gnu_hash[1];
  const uint32_t filter_words = tables->gnu_hash[2];
  const uint32_t* bucket = tables->gnu_hash + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = bucket + buckets;
  if (buckets == 0 || bucket[hash % buckets] < first) return 0;
  for (uint32_t number = bucket[hash % buckets];; ++number) {
    if ((chain[number - first] | 1u) == (hash | 1u) && is_wanted(tables, number, name)) return number;
    if ((chain[number - first] & 1u) != 0) return 0;
  }
}

static uint32_t find_by_hash(const struct tables* tables, const char* name) {
  for (uint32_t number = 1; number < tables->hash[1]; ++number) {
    if (is_wanted(tables, number, name)) return number;
  }
  return 0;
}

int search_in(struct search* search, ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char* path) {
  const struct tables tables = tables_of(base, dynamic);
  if (tables.symbols == NULL || tables.strings == NULL) return 0;
  uint32_t number = 0;
  if (tables.gnu_hash != NULL) {
    number = find_by_gnu_hash(&tables, search->symbol);
  } else if (tables.hash != NULL) {
    number = find_by_hash(&tables, search->symbol);
  }
  if (number == 0) return 0;
  void* function = (void*)(base + tables.symbols[number].st_value);
  if (function == search->ours) {
    search->behind_us = 1;
    return 0;
  }
  if (search->only_behind_us && !search->behind_us) return 0;
  search->function = function;
  search->path = path;
  return 1;
}

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info* object) {
  const ElfW(Dyn)* dynamic = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn)*)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
  }
  return dynamic;
}

static const char* file_of(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static int search_object(struct dl_phdr_info* object, size_t size, void* context) {
  (void)size;
  struct search* search = context;
  if (search->object != NULL && strncmp(file_of(object->dlpi_name), search->object, strlen(search->object)) != 0) return 0;
  return search_in(search, object->dlpi_addr, dynamic_of(object), object->dlpi_name);
}

struct search find_function(const char* symbol, const void* ours, const char* object) {
  struct search search = {symbol, ours, object, 0, 0, NULL, ""};
  dl_iterate_phdr(search_object, &search);
  if (search.function == NULL) {
    search.object = NULL;
    dl_iterate_phdr(search_object, &search);
  }
  return search;
}

/* ---- by the caller ---- */

enum { MOST_OBJECTS = 64 };

/* The caller's object, then what it needs, level by level. */
struct needed_objects {
  const void* caller;
  struct search search;
  const ElfW(Dyn) * dynamics[MOST_OBJECTS];
  const char* strings[MOST_OBJECTS];
  size_t count;
  size_t searched; /* these come before the level that is looked for */
};

static int add_object(struct needed_objects* objects, const struct dl_phdr_info* object) {
  const ElfW(Dyn)* dynamic = dynamic_of(object);
  for (size_t i = 0; i < objects->count; ++i) {
    if (objects->dynamics[i] == dynamic) return 0;
  }
  const struct tables tables = tables_of(object->dlpi_addr, dynamic);
  if (tables.strings == NULL || objects->count >= MOST_OBJECTS) return 0;
  objects->dynamics[objects->count] = dynamic;
  objects->strings[objects->count++] = tables.strings;
  return search_in(&objects->search, object->dlpi_addr, dynamic, object->dlpi_name);
}

static int add_caller(struct dl_phdr_info* object, size_t size, void* context) {
  (void)size;
  struct needed_objects* objects = context;
  const uintptr_t caller = (uintptr_t)objects->caller;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + part->p_vaddr;
    if (part->p_type != PT_LOAD || caller < begin || caller >= begin + part->p_memsz) continue;
    add_object(objects, object);
    return 1;
  }
  return 0;
}

static int is_needed(const struct needed_objects* objects, const char* name) {
  for (size_t i = 0; i < objects->searched; ++i) {
    for (const ElfW(Dyn)* entry = objects->dynamics[i]; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_NEEDED && is_same(file_of(objects->strings[i] + entry->d_un.d_val), name)) return 1;
    }
  }
  return 0;
}

static int add_needed(struct dl_phdr_info* object, size_t size, void* context) {
  (void)size;
  struct needed_objects* objects = context;
  const ElfW(Dyn)* dynamic = dynamic_of(object);
  const struct tables tables = tables_of(object->dlpi_addr, dynamic);
  int needed = is_needed(objects, file_of(object->dlpi_name));
  for (const ElfW(Dyn)* entry = dynamic; !needed && tables.strings != NULL && entry->d_tag != DT_NULL; ++entry) {
    needed = entry->d_tag == DT_SONAME && is_needed(objects, file_of(tables.strings + entry->d_un.d_val));
  }
  return needed ? add_object(objects, object) : 0;
}

void* find_function_of_caller(const char* symbol, const void* ours, const void* caller) {
  struct needed_objects objects = {0};
  objects.caller = caller;
  objects.search = (struct search){symbol, ours, NULL, 0, 0, NULL, ""};
  dl_iterate_phdr(add_caller, &objects);
  while (objects.search.function == NULL && objects.searched < objects.count) {
    objects.searched = objects.count;
    dl_iterate_phdr(add_needed, &objects);
  }
  return objects.search.function != NULL ? objects.search.function : find_function(symbol, ours, NULL).function;
}

static int read_unloads(struct dl_phdr_info* object, size_t size, void* context) {
  if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof object->dlpi_subs) *(unsigned long long*)context = object->dlpi_subs;
  return 1;
}

unsigned long long unloaded_objects(void) {
  unsigned long long unloads = 0;
  dl_iterate_phdr(read_unloads, &unloads);
  return unloads;
}
