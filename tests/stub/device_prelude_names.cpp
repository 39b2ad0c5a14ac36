// The simulator's prelude seen from a translation unit of its own (it redefines CUDA's words), as tables for the test.
#include "device_prelude_names.h"

#include "runtime_stub/sim/prelude.h"

namespace dlcb::testing {

#define DLCB_FLOAT(NAME) \
  { #NAME, &NAME##f_, &d_##NAME##f_ }
const Function1 kFunctions1[] = {
    DLCB_FLOAT(exp),  DLCB_FLOAT(log),  DLCB_FLOAT(sqrt),  DLCB_FLOAT(rsqrt), DLCB_FLOAT(erf),   DLCB_FLOAT(tanh),
    DLCB_FLOAT(sin),  DLCB_FLOAT(cos),  DLCB_FLOAT(tan),   DLCB_FLOAT(asin),  DLCB_FLOAT(acos),  DLCB_FLOAT(atan),
    DLCB_FLOAT(sinh), DLCB_FLOAT(cosh), DLCB_FLOAT(asinh), DLCB_FLOAT(acosh), DLCB_FLOAT(atanh), DLCB_FLOAT(floor),
    DLCB_FLOAT(ceil), DLCB_FLOAT(rint), DLCB_FLOAT(fabs),
};
const int kFunctions1Count = sizeof(kFunctions1) / sizeof(kFunctions1[0]);
const Function2 kFunctions2[] = {
    DLCB_FLOAT(pow),
    DLCB_FLOAT(fmod),
    DLCB_FLOAT(div),
    DLCB_FLOAT(div_exact),
    {"max_nan", &fmaxf_nan, &d_fmaxf_nan},
    {"min_nan", &fminf_nan, &d_fminf_nan},
};
const int kFunctions2Count = sizeof(kFunctions2) / sizeof(kFunctions2[0]);

unsigned divide(unsigned n, unsigned mul, unsigned shift) { return mdiv(n, mul, shift); }
float multiply_add(float x, float y, float z) { return fmaf_(x, y, z); }
double multiply_add(double x, double y, double z) { return d_fmaf_(x, y, z); }
bool is_nan(float x) { return isnanf_(x); }
bool is_nan(double x) { return d_isnanf_(x); }
bool is_inf(float x) { return isinff_(x); }
bool is_inf(double x) { return d_isinff_(x); }

}  // namespace dlcb::testing
