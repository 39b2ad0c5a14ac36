# Everything but CUDA is linked statically. Debian ships no static fmt and spdlog, but it ships their sources as *-inl.h
# headers, so each is compiled once here into a static library instead of into every file that includes it.
find_package(Threads REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(Catch2 CONFIG REQUIRED)
set(Protobuf_USE_STATIC_LIBS ON)
find_package(Protobuf REQUIRED)
find_library(DLCB_FLATBUFFERS libflatbuffers.a REQUIRED)
find_program(DLCB_FLATC flatc REQUIRED)
find_library(DLCB_DEFLATE libdeflate.a REQUIRED)

# fmt 9 on Debian 12 and Ubuntu 24.04; from 11 on its list of explicit instantiations is another, so it is left header-only.
if(fmt_VERSION VERSION_LESS 11)
  add_library(dlcb_fmt STATIC ${CMAKE_SOURCE_DIR}/cmake/static/fmt.cpp)
  get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(dlcb_fmt SYSTEM PUBLIC ${fmt_include})
  target_compile_options(dlcb_fmt PRIVATE -w)
else()
  add_library(dlcb_fmt INTERFACE)
  target_link_libraries(dlcb_fmt INTERFACE fmt::fmt-header-only)
endif()

# Used by the programs alone (cmd/): libraries return diagnostics and never log.
find_path(DLCB_SPDLOG_INCLUDE spdlog/spdlog.h REQUIRED)
add_library(dlcb_spdlog STATIC ${CMAKE_SOURCE_DIR}/cmake/static/spdlog.cpp)
target_include_directories(dlcb_spdlog SYSTEM PUBLIC ${DLCB_SPDLOG_INCLUDE})
target_compile_definitions(dlcb_spdlog PUBLIC SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL)
target_compile_options(dlcb_spdlog PRIVATE -w)
target_link_libraries(dlcb_spdlog PUBLIC dlcb_fmt Threads::Threads)

# Catch2 v2 (Debian 12) and v3 (Ubuntu 24.04) differ in the header's name and in who supplies main().
if(Catch2_VERSION VERSION_GREATER_EQUAL 3)
  add_library(dlcb_catch_main INTERFACE)
  target_link_libraries(dlcb_catch_main INTERFACE Catch2::Catch2WithMain)
  target_include_directories(dlcb_catch_main INTERFACE ${CMAKE_SOURCE_DIR}/cmake/static/catch_v3)
else()
  add_library(dlcb_catch_main STATIC ${CMAKE_SOURCE_DIR}/cmake/static/catch_main.cpp)
  target_link_libraries(dlcb_catch_main PUBLIC Catch2::Catch2)
  # 18,000 lines that are not ours: neither warnings nor instrumentation, with which they take half a minute to compile.
  target_compile_options(dlcb_catch_main PRIVATE -w -O1 -g0 -fno-sanitize=all)
  target_include_directories(dlcb_catch_main PUBLIC ${CMAKE_SOURCE_DIR}/cmake/static/catch_v2)
endif()
