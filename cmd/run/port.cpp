// See port.h.
#include "cmd/run/port.h"

#include "base/text.h"

namespace dlcb::cmd {

std::string port_text(const Port& port) {
  return port.name + ": " + std::string(name_of(port.dtype)) + "[" + join(port.dims, ", ") + "]";
}

}  // namespace dlcb::cmd
