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
dlcb_test(device_cuda SOURCES device_cuda_test.cpp DEPS runtime)

# For a machine with a GPU; not a test of CTest's. Carries its C++ library along.
dlcb_program(device_cuda_check
  SOURCES device_cuda_check.cpp ${CMAKE_CURRENT_BINARY_DIR}/kernel_prelude_text.cpp
  DEPS runtime)
target_include_directories(device_cuda_check PRIVATE ${CMAKE_SOURCE_DIR}/runtime_stub/sim)

# Our declarations of the CUDA libraries are compared with the toolkit's headers where those are installed.
find_path(DLCB_CUDA_HEADERS cublasLt.h HINTS /usr/local/cuda/include)
find_path(DLCB_CUDNN_HEADERS cudnn.h HINTS /usr/local/cuda/include)
if(DLCB_CUDA_HEADERS AND DLCB_CUDNN_HEADERS)
  add_library(device_cuda_values OBJECT device_cuda_values.cpp)
  target_include_directories(device_cuda_values SYSTEM PRIVATE ${DLCB_CUDA_HEADERS} ${DLCB_CUDNN_HEADERS})
  target_include_directories(device_cuda_values PRIVATE ${CMAKE_SOURCE_DIR})
endif()
