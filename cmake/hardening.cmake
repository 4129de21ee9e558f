# Hardening of everything that is built; tools/check_symbols.py checks the libraries and the command.
add_compile_options(-fstack-protector-strong -fstack-clash-protection)
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
if(NOT TENSORTAP_SANITIZE)
  # Needs an optimised build; the sanitizers bring checks of their own.
  add_compile_options("$<$<CONFIG:Release,RelWithDebInfo>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>")
endif()
