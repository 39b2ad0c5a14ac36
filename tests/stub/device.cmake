# Tests of the devices behind runtime_stub/src/device.h; included by CMakeLists.txt here.
include(embed)
dlcb_embed(${CMAKE_CURRENT_BINARY_DIR}/kernel_prelude_text.cpp kKernelPrelude ${CMAKE_SOURCE_DIR}/compiler/kernel/prelude.cuh)

dlcb_test(device_prelude
  SOURCES device_prelude_test.cpp device_prelude_names.cpp device_nvrtc_test.cpp
          ${CMAKE_CURRENT_BINARY_DIR}/kernel_prelude_text.cpp
  DEPS ${CMAKE_DL_LIBS})
dlcb_test(device_sim
  SOURCES device_sim_test.cpp device_cache_test.cpp device_library_test.cpp
  DEPS dlcb_sim_objects)
