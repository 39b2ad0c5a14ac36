// libdlcb.so is libdlcb_runtime.a, whole (CMakeLists.txt); CMake wants a shared library to have a source of its own.
