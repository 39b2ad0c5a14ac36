#include "cudnn_api.h"

namespace dlcb::rt::cudnn {

Error Api::open(const Api** out) {
  struct Opened {
    Api api{};
    Error error;
    Opened() : error(load()) {}
    Error load() {
      Library library;
      if (Error e = library.open({"libcudnn.so.9", "libcudnn.so"})) return e;
      Error error;
      auto find = [&](const char* symbol, auto* function) {
        if (!error) error = library.find(symbol, function);
      };
      find("cudnnGetVersion", &api.version);
      find("cudnnCreate", &api.create);
      find("cudnnDestroy", &api.destroy);
      find("cudnnSetStream", &api.set_stream);
      find("cudnnGetErrorString", &api.error_string);
      find("cudnnBackendCreateDescriptor", &api.descriptor_create);
      find("cudnnBackendDestroyDescriptor", &api.descriptor_destroy);
      find("cudnnBackendFinalize", &api.descriptor_finalize);
      find("cudnnBackendSetAttribute", &api.descriptor_set);
      find("cudnnBackendGetAttribute", &api.descriptor_get);
      find("cudnnBackendExecute", &api.execute);
      return error;
    }
  };
  static const Opened opened;
  *out = &opened.api;
  return opened.error;
}

}  // namespace dlcb::rt::cudnn
