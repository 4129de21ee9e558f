// Captures the arena of watched_arena.h: watch_program CONFIG [whole]. Without `whole` an op writes into another's output.

#include <string>

#include "tensortap/tensortap.h"
#include "watched_arena.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  tensortap::Session session;
  if (!session.open(argv[1], "arena 1.0").empty()) return 3;
  watched_arena::Arena arena(session.get(), argc < 3);
  if (tensortap_bind(session.get(), nullptr, 0) != TENSORTAP_OK) return 4;
  arena.step(0);
  return session.close();
}
