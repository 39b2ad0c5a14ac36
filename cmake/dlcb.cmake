# To work on one part without the others: cmake -DDLCB_ONLY="base;sym" configures just these folders and their tests.
set(DLCB_ONLY "" CACHE STRING "configure only these folders (empty: all)")

# Adds the named folders that are there, in this order.
function(dlcb_add)
  foreach(folder IN LISTS ARGN)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt AND (NOT DLCB_ONLY OR folder IN_LIST DLCB_ONLY))
      add_subdirectory(${folder})
    endif()
  endforeach()
endfunction()

# dlcb_library(sym SOURCES a.cpp b.cpp DEPS base fmt::fmt): a static library dlcb_sym whose headers are found from its
# top-level folder ("sym/expr.h"). DEPS without "::" name other folders of ours.
function(dlcb_link target)
  foreach(dep IN LISTS ARGN)
    if(dep MATCHES "::" OR NOT TARGET dlcb_${dep})
      target_link_libraries(${target} PUBLIC ${dep})
    else()
      target_link_libraries(${target} PUBLIC dlcb_${dep})
    endif()
  endforeach()
endfunction()

function(dlcb_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(dlcb_${name} STATIC ${ARG_SOURCES})
  target_include_directories(dlcb_${name} PUBLIC ${CMAKE_SOURCE_DIR}/compiler ${CMAKE_SOURCE_DIR})
  dlcb_link(dlcb_${name} ${ARG_DEPS})
endfunction()

# dlcb_test(sym SOURCES ... DEPS ...): a Catch2 program tests_sym, registered with CTest as "sym".
function(dlcb_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(tests_${name} ${ARG_SOURCES})
  target_include_directories(tests_${name} PRIVATE ${CMAKE_SOURCE_DIR}/compiler ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/tests)
  dlcb_link(tests_${name} ${ARG_DEPS})
  target_link_libraries(tests_${name} PRIVATE dlcb_catch_main)
  add_test(NAME ${name} COMMAND tests_${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/tests)
endfunction()

function(dlcb_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/compiler ${CMAKE_SOURCE_DIR})
  dlcb_link(${name} ${ARG_DEPS})
  target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
endfunction()
