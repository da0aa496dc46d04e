/* Quotients of an odd and an even polynomial of a bounded argument, each step a fused
 * multiply-add; exp and erf, by polynomials. The coefficients are Eigen's rational approximations,
 * of which ONNX Runtime's documentation of MLAS says that it takes them. */
#include "number/function/mlas.h"

#include "number/round/odd.h"

#include <math.h>

struct quotient {
    float limit;
    int above_count, below_count;
    float above[7], below[6]; /* the highest power first */
};

static const struct quotient sigmoid = {18,
                                        5,
                                        6,
                                        {4.37031012579801e-11f, 1.15627324459942e-07f,
                                         6.08574864600143e-05f, 8.51377133304701e-03f,
                                         2.48287947061529e-01f},
                                        {6.10247389755681e-13f, 5.76102136993427e-09f,
                                         6.29106785017040e-06f, 1.70198817374094e-03f,
                                         1.16817656904453e-01f, 9.93151921023180e-01f}};
static const struct quotient hyperbolic = {
    9,
    7,
    4,
    {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f, 5.12229709037114e-08f,
     1.48572235717979e-05f, 6.37261928875436e-04f, 4.89352455891786e-03f},
    {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f, 4.89352518554385e-03f}};

/* The product of two floats is exact in double; its sum, rounded to odd, then rounds once. */
static float evaluate(const float *coefficients, int count, float x)
{
    float sum = coefficients[0];
    for (int i = 1; i < count; i++)
        sum = (float)ulp_odd_add((double)sum * x, coefficients[i]);
    return sum;
}

static float divide_polynomials(const struct quotient *of, float x)
{
    const float within = x < -of->limit  ? -of->limit
                         : x > of->limit ? of->limit
                                         : x,
                square = within * within;
    return evaluate(of->above, of->above_count, square) * within /
           evaluate(of->below, of->below_count, square);
}

static float take_sigmoid(float x)
{
    const float y = divide_polynomials(&sigmoid, x) + 0.5f;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

enum { POWERS = 7 }; /* of the polynomials for exp */

/* The nearest whole number of halvings is taken out by an addition of 3 * 2^22, in two parts; what
 * is left goes into a polynomial. */
static float halve(const float coefficients[POWERS], float x)
{
    const float bias = 0x1.8p23f;
    const float whole = (float)ulp_odd_add((double)x * 1.44269504088896341f, bias) - bias;
    const float high = (float)ulp_odd_add((double)whole * -6.93145752e-1f, x),
                rest = (float)ulp_odd_add((double)whole * -1.42860677e-6f, high);
    return (float)ldexp(evaluate(coefficients, POWERS, rest), (int)whole);
}

static float take_exp(float x)
{
    static const float coefficients[POWERS] = {
        0x1.694p-10f, 0x1.125edcp-7f, 0x1.555b5ap-5f, 0x1.55545p-3f, 0x1.fffff6p-2f, 1, 1};
    const float least = -103.9720840454f, most = 88.776262664795f;
    return x != x ? x : x < least ? 0 : halve(coefficients, x > most ? most : x);
}

/* A polynomial p of what is small; else 1 - exp(-p) of another. N. Juffa's coefficients, of which
 * MLAS says that it takes them. */
static float take_erf(float x)
{
    static const float small[] = {-5.99104969e-4f, 4.99339588e-3f,  -2.67667342e-2f,
                                  1.12818025e-1f,  -3.76124859e-1f, 1.28379151e-1f},
                       large[] = {1.72948930e-5f, -3.83208680e-4f, 3.88393435e-3f, -2.42545605e-2f,
                                  1.06777847e-1f, 6.34846687e-1f,  1.28717512e-1f},
                       powers[POWERS] = {1.38319808e-3f,
                                         8.37550033e-3f,
                                         4.16689515e-2f,
                                         1.66664466e-1f,
                                         4.99999851e-1f,
                                         1,
                                         1};
    const float most = 3.925f, split = 0.921875f, size = fabsf(x) > most ? most : fabsf(x);
    if (x != x)
        return x;
    const bool is_small = size <= split;
    const float sum = is_small ? evaluate(small, sizeof small / sizeof *small, size * size)
                               : evaluate(large, sizeof large / sizeof *large, size);
    const float p = (float)ulp_odd_add((double)sum * size, size);
    return copysignf(is_small ? p : 1 - halve(powers, -p), x);
}

bool ulp_mlas_function(enum ulp_primitive primitive, float *out, const float *a, size_t n)
{
    if (primitive != ULP_PRIMITIVE_SIGMOID && primitive != ULP_PRIMITIVE_TANH &&
        primitive != ULP_PRIMITIVE_EXP && primitive != ULP_PRIMITIVE_ERF)
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = primitive == ULP_PRIMITIVE_EXP    ? take_exp(a[i])
                 : primitive == ULP_PRIMITIVE_TANH ? divide_polynomials(&hyperbolic, a[i])
                 : primitive == ULP_PRIMITIVE_ERF  ? take_erf(a[i])
                                                   : take_sigmoid(a[i]);
    return true;
}
