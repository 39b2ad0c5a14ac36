# dlcb_embed(OUT SYMBOL FILE...): writes a C++ source OUT that defines `extern const char SYMBOL[]` (in namespace dlcb), the
# concatenation of the files, as raw string literals. The source is remade when a file changes.
#   dlcb_embed(${CMAKE_CURRENT_BINARY_DIR}/prelude_text.cpp kPreludeText ${CMAKE_SOURCE_DIR}/compiler/kernel/prelude.cuh)
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "// Generated from ${FILES}.\nnamespace dlcb {\nextern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] =\n")
  string(REPLACE "|" ";" FILES "${FILES}")
  foreach(file IN LISTS FILES)
    file(READ "${file}" content)
    string(APPEND text "R\"dlcb_text(${content})dlcb_text\"\n")
  endforeach()
  file(WRITE "${OUT}" "${text};\n}  // namespace dlcb\n")
  return()
endif()

function(dlcb_embed out symbol)
  string(REPLACE ";" "|" files "${ARGN}")
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DSYMBOL=${symbol} "-DFILES=${files}" -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${ARGN} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    VERBATIM)
endfunction()
