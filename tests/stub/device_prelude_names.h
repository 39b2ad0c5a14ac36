#pragma once

namespace dlcb::testing {

struct Function1 {
  const char* name;
  float (*f)(float);
  double (*d)(double);
};
struct Function2 {
  const char* name;
  float (*f)(float, float);
  double (*d)(double, double);
};
extern const Function1 kFunctions1[];
extern const int kFunctions1Count;
extern const Function2 kFunctions2[];
extern const int kFunctions2Count;

unsigned divide(unsigned n, unsigned mul, unsigned shift);
float multiply_add(float x, float y, float z);
double multiply_add(double x, double y, double z);
bool is_nan(float x);
bool is_nan(double x);
bool is_inf(float x);
bool is_inf(double x);

}  // namespace dlcb::testing
