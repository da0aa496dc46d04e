/* A template of records of one to four limbs, four times: WIDE_TEMPLATE names its file. */
#define SIGNIFICAND 1
#define NAME(x) x##_1
#include WIDE_TEMPLATE
#define SIGNIFICAND 2
#define NAME(x) x##_2
#include WIDE_TEMPLATE
#define SIGNIFICAND 3
#define NAME(x) x##_3
#include WIDE_TEMPLATE
#define SIGNIFICAND 4
#define NAME(x) x##_4
#include WIDE_TEMPLATE
#undef WIDE_TEMPLATE
