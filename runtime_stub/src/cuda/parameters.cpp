// See parameters.h.
#include "parameters.h"

namespace dlcb::rt {

Error check_parameters(const Driver& driver, CUfunction function, const EntryInfo& info) {
  if (!driver.cuFuncGetParamInfo || !info.params) return {};
  size_t passed = 0;  // bytes
  const auto differ = [&] {
    return Error{DLCB_BAD_BUNDLE, "kernel " + info.name + " does not have the parameters that its launches pass"};
  };
  for (size_t i = 0;; ++i) {
    size_t offset = 0, size = 0;
    const CUresult r = driver.cuFuncGetParamInfo(function, i, &offset, &size);
    if (r == kCudaErrorInvalidValue)
      return i == info.params->size() ? Error{} : differ();  // there is no such parameter
    if (r != 0) return driver.check(r, "cuFuncGetParamInfo", info.name);
    if (i == info.params->size()) return differ();
    const size_t expected = (*info.params)[i] == kParam4Bytes ? 4 : 8;
    passed = (passed + expected - 1) / expected * expected;
    if (size != expected || offset != passed) return differ();
    passed += size;
  }
}

}  // namespace dlcb::rt
