/* Finds functions in the loaded objects of a process without dlsym(), which the stub interposes. The C library alone. */

#ifndef TENSORTAP_SOURCE_PRELOAD_SYMBOL_SEARCH_H_
#define TENSORTAP_SOURCE_PRELOAD_SYMBOL_SEARCH_H_

#include <link.h>
#include <stddef.h>

struct search {
  const char* symbol;
  const void* ours;   /* what we define under that name */
  const char* object; /* look only into objects whose file name begins so; null = any */
  int only_behind_us; /* look only behind the object that has ours */
  int behind_us;
  void* function;   /* null = not found */
  const char* path; /* of the object that has it; its name lives as long as the object */
};

/* Whether two texts are equal. Not strcmp(): a sanitizer looks its own functions up before it can be called. */
int is_same(const char* one, const char* other);

/* Whether the object at `base` with this dynamic section ends the search. */
int search_in(struct search* search, ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char* path);

/* In objects of this name, else in any. Distributions add a version to the name. */
struct search find_function(const char* symbol, const void* ours, const char* object);

/* The function that a call from the code at `caller` reaches without us, where the caller's object has the function itself or one of the
 * objects that it needs has it; otherwise the first that any object has. Null when there is none. */
void* find_function_of_caller(const char* symbol, const void* ours, const void* caller);

/* How many objects were unloaded so far: as long as it stays, an address of code is that of the same object. */
unsigned long long unloaded_objects(void);

#endif /* TENSORTAP_SOURCE_PRELOAD_SYMBOL_SEARCH_H_ */
