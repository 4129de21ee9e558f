# Run as a script: makes OUTPUT, the C++ source of kernel_text.h in FOLDER (src/capture/source/pytorch/device), out of the files there.
set(arrays "")
set(rows "")
foreach(name kernel_code kernel_elements kernel_sums)
  file(READ ${FOLDER}/${name}.h bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char k_${name}[] = {\n${bytes}\n0};\n")
  string(APPEND rows "    {\"source/pytorch/device/${name}.h\", reinterpret_cast<const char*>(k_${name})},\n")
endforeach()
file(WRITE ${OUTPUT}.new "#include \"source/pytorch/device/kernel_text.h\"\n\nnamespace tensortap::pytorch {\nnamespace {\n\n${arrays}\n"
     "const KernelText kTexts[] = {\n${rows}};\n\n}  // namespace\n\n"
     "std::span<const KernelText> kernel_texts() { return kTexts; }\n\n}  // namespace tensortap::pytorch\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
