/* Operators whose output element depends on one element of each input. */
#include "ops/infer.h"

#define UNARY .inputs = "x", .outputs = "y", .infer = ulp_infer_first
#define TEST .inputs = "x", .outputs = "y", .infer = ulp_infer_first_bool
#define BINARY .inputs = "a b", .outputs = "c", .infer = ulp_infer_broadcast
#define COMPARISON .inputs = "a b", .outputs = "c", .infer = ulp_infer_broadcast_bool
#define LOGIC .inputs = "a:b b:b", .outputs = "c", .infer = ulp_infer_broadcast_bool
/* Of the Neural Engine it is known that softplus(x) falls to 0 above 10.408, the first of 2,000
 * points of [-15, 15] beyond log(2^15) (apple/coremltools#2687): something twice exp(x) is out of
 * range there. */
#define PLAIN_SOFTPLUS "t = 2 * exp(x); "
#define VARIADIC .inputs = "x*", .outputs = "y", .infer = ulp_infer_broadcast

/* clang-format off */
const struct ulp_operator ulp_ops_elementwise[] = {
    /* functions of one number */
    {.name = "Abs", .since = 6, UNARY, .formula = "abs(x)"},
    {.name = "Acos", .since = 7, UNARY, .formula = "acos(x)"},
    {.name = "Acosh", .since = 9, UNARY, .formula = "acosh(x)"},
    {.name = "Asin", .since = 7, UNARY, .formula = "asin(x)"},
    {.name = "Asinh", .since = 9, UNARY, .formula = "asinh(x)"},
    {.name = "Atan", .since = 7, UNARY, .formula = "atan(x)"},
    {.name = "Atanh", .since = 9, UNARY, .formula = "atanh(x)"},
    {.name = "BitwiseNot", .since = 18, UNARY, .formula = "bit_not(x)"},
    {.name = "Ceil", .since = 6, UNARY, .formula = "ceil(x)"},
    {.name = "Cos", .since = 7, UNARY, .formula = "cos(x)"},
    {.name = "Cosh", .since = 9, UNARY, .formula = "cosh(x)"},
    {.name = "Erf", .since = 9, UNARY, .formula = "erf(x)"},
    {.name = "Exp", .since = 6, UNARY, .formula = "exp(x)"},
    {.name = "Floor", .since = 6, UNARY, .formula = "floor(x)"},
    {.name = "IsInf", .since = 10, TEST, .attributes = "detect_negative:int=1; "
                                        "detect_positive:int=1",
     .formula = "is_inf(x) && (x > 0 ? detect_positive : detect_negative)"},
    {.name = "IsNaN", .since = 9, TEST, .formula = "is_nan(x)"},
    {.name = "Log", .since = 6, UNARY, .formula = "log(x)"},
    {.name = "Neg", .since = 6, UNARY, .formula = "-x"},
    {.name = "Not", .since = 1, .inputs = "x:b", .outputs = "y", .infer = ulp_infer_first_bool,
     .formula = "!x"},
    {.name = "Reciprocal", .since = 6, UNARY, .formula = "1 / x"},
    {.name = "Round", .since = 11, UNARY, .formula = "round(x)"},
    {.name = "Sign", .since = 9, UNARY, .formula = "sign(x)"},
    {.name = "Sin", .since = 7, UNARY, .formula = "sin(x)"},
    {.name = "Sinh", .since = 9, UNARY, .formula = "sinh(x)"},
    {.name = "Sqrt", .since = 6, UNARY, .formula = "sqrt(x)"},
    {.name = "Tan", .since = 7, UNARY, .formula = "tan(x)"},
    {.name = "Tanh", .since = 6, UNARY, .formula = "tanh(x)"},

    /* activations; min(x, 0) inside exp keeps the branch that is not taken from overflowing */
    {.name = "Celu", .since = 12, UNARY, .attributes = "alpha:float=1",
     .formula = "max(0, x) + min(0, alpha * (exp(min(x, 0) / alpha) - 1))"},
    {.name = "Clip", .since = 6, UNARY, .attributes = "min:float=-3.402823466e+38; "
                                        "max:float=3.402823466e+38",
     .formula = "min(max(x, min), max)"},
    {.name = "Clip", .since = 11, .inputs = "x min?=-inf max?=inf", .outputs = "y",
     .infer = ulp_infer_first,
     .formula = "min(max(x, min), max)"},
    {.name = "Elu", .since = 6, UNARY, .attributes = "alpha:float=1",
     .formula = "x < 0 ? alpha * (exp(min(x, 0)) - 1) : x"},
    {.name = "Gelu", .since = 20, .when = "approximate=none", UNARY,
     .attributes = "approximate:string=none",
     .formula = "0.5 * x * (1 + erf(x / sqrt(2)))"},
    {.name = "Gelu", .since = 20, .when = "approximate=tanh", UNARY,
     .attributes = "approximate:string=none",
     .formula = "0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * pow(x, 3))))"},
    {.name = "HardSigmoid", .since = 6, UNARY, .attributes = "alpha:float=0.2; beta:float=0.5",
     .formula = "max(0, min(1, alpha * x + beta))"},
    {.name = "HardSwish", .since = 14, UNARY, .formula = "x * max(0, min(1, x / 6 + 0.5))"},
    {.name = "LeakyRelu", .since = 6, UNARY, .attributes = "alpha:float=0.01",
     .formula = "x < 0 ? alpha * x : x"},
    {.name = "Mish", .since = 18, UNARY, .formula = "x * tanh(softplus(x))",
     .plain = PLAIN_SOFTPLUS "x * tanh(is_inf(t) ? 0 : log(1 + t / 2))"},
    {.name = "PRelu", .since = 7, .inputs = "x slope", .outputs = "y", .infer = ulp_infer_broadcast,
     .formula = "x < 0 ? slope * x : x"},
    {.name = "Relu", .since = 6, UNARY, .formula = "max(x, 0)"},
    {.name = "Selu", .since = 6, UNARY,
     .attributes = "alpha:float=1.67326319217681884765625; gamma:float=1.05070102214813232421875",
     .formula = "gamma * (x > 0 ? x : alpha * exp(min(x, 0)) - alpha)"},
    {.name = "Shrink", .since = 9, UNARY, .attributes = "bias:float=0; lambd:float=0.5",
     .formula = "x < -lambd ? x + bias : x > lambd ? x - bias : 0"},
    {.name = "Sigmoid", .since = 6, UNARY, .formula = "sigmoid(x)"},
    {.name = "Softplus", .since = 1, UNARY, .formula = "softplus(x)",
     .plain = PLAIN_SOFTPLUS "is_inf(t) ? 0 : log(1 + t / 2)"},
    {.name = "Softsign", .since = 1, UNARY, .formula = "x / (1 + abs(x))"},
    {.name = "SwiGLU", .since = 28, BINARY, .attributes = "alpha:float=1",
     .formula = "a * sigmoid(alpha * a) * b"},
    {.name = "Swish", .since = 24, UNARY, .attributes = "alpha:float=1",
     .formula = "x * sigmoid(alpha * x)"},
    {.name = "ThresholdedRelu", .since = 1 /* experimental before 10 */, UNARY,
     .attributes = "alpha:float=1",
     .formula = "x > alpha ? x : 0"},

    /* two numbers */
    {.name = "Add", .since = 7, BINARY, .formula = "a + b"},
    {.name = "BitShift", .since = 11, .when = "direction=LEFT", BINARY,
     .attributes = "direction:!string",
     .formula = "shift_left(a, b)"},
    {.name = "BitShift", .since = 11, .when = "direction=RIGHT", BINARY,
     .attributes = "direction:!string",
     .formula = "shift_right(a, b)"},
    {.name = "BitwiseAnd", .since = 18, BINARY, .formula = "bit_and(a, b)"},
    {.name = "BitwiseOr", .since = 18, BINARY, .formula = "bit_or(a, b)"},
    {.name = "BitwiseXor", .since = 18, BINARY, .formula = "bit_xor(a, b)"},
    {.name = "Div", .since = 7, BINARY, .formula = "a / b"},
    {.name = "Mod", .since = 10, .when = "fmod=0", BINARY, .attributes = "fmod:int=0",
     .formula = "mod(a, b)"},
    {.name = "Mod", .since = 10, .when = "fmod=1", BINARY, .attributes = "fmod:int=0",
     .formula = "fmod(a, b)"},
    {.name = "Mul", .since = 7, BINARY, .formula = "a * b"},
    {.name = "Pow", .since = 7, .inputs = "x y:*", .outputs = "z", .infer = ulp_infer_broadcast,
     .formula = "pow(x, y)"},
    {.name = "Sub", .since = 7, BINARY, .formula = "a - b"},

    /* truth */
    {.name = "And", .since = 7, LOGIC, .formula = "a && b"},
    {.name = "Equal", .since = 7, COMPARISON, .formula = "a == b"},
    {.name = "Greater", .since = 7, COMPARISON, .formula = "a > b"},
    {.name = "GreaterOrEqual", .since = 12, COMPARISON, .formula = "a >= b"},
    {.name = "Less", .since = 7, COMPARISON, .formula = "a < b"},
    {.name = "LessOrEqual", .since = 12, COMPARISON, .formula = "a <= b"},
    {.name = "Or", .since = 7, LOGIC, .formula = "a || b"},
    {.name = "Where", .since = 9, .inputs = "condition:b x y", .outputs = "z",
     .infer = ulp_infer_broadcast,
     .formula = "condition ? x : y"},
    {.name = "Xor", .since = 7, LOGIC, .formula = "xor(a, b)"},

    /* any count of tensors */
    {.name = "Max", .since = 6, VARIADIC, .formula = "max(x, ...)"},
    {.name = "Mean", .since = 6, VARIADIC, .formula = "add(x, ...) / #x"},
    {.name = "Min", .since = 6, VARIADIC, .formula = "min(x, ...)"},
    {.name = "Sum", .since = 6, VARIADIC, .formula = "add(x, ...)"},
    {0},
};
/* clang-format on */
