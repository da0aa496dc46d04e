/* ulpscope: which layer of an ONNX model loses the accuracy, and in which arithmetic.
 *
 * Umbrella header. Read in this order: status.h (errors), memory.h (limiting memory), format.h
 * (number formats and arithmetics), tensor.h (values), model.h (load a model), recording.h (what
 * another framework computed), array.h (rounding and products without a model), unit.h (matrix
 * units by themselves), run.h (compile and run lanes side by side), audit.h (the audit), compare.h
 * (recordings beside the truth), search.h (what to keep in a wider arithmetic, a format for each
 * layer), engine.h (what a runtime built, and computing exactly that), overflow.h (what will
 * overflow), prove.h (what cannot), lint.h (what a graph is known to lose), doctor.h (all of these
 * in one walk), fix.h (a model that holds, of one that fails), verdict.h (fine, borderline,
 * broken), scales.h (what formats with scales do to factors), tolerance.h (what an arithmetic can
 * meet), between.h (what given tokens lose from one arithmetic to another), report.h (writing it down), saved.h (reading that again), html.h (as a page to look at),
 * outputs.h (several files or none). The library never prints, aborts or exits.
 *
 * Results do not depend on the calling thread's rounding mode, flushing of subnormals, MPFR
 * settings or locale: functions that compute set their own and put the caller's back, also while
 * they call an observer. */
#ifndef ULPSCOPE_H
#define ULPSCOPE_H

#include <ulpscope/status.h>
#include <ulpscope/memory.h>
#include <ulpscope/format.h>
#include <ulpscope/tensor.h>
#include <ulpscope/array.h>
#include <ulpscope/model.h>
#include <ulpscope/recording.h>
#include <ulpscope/unit.h>
#include <ulpscope/run.h>
#include <ulpscope/audit.h>
#include <ulpscope/limit.h>
#include <ulpscope/verdict.h>
#include <ulpscope/compare.h>
#include <ulpscope/target.h>
#include <ulpscope/lint.h>
#include <ulpscope/saved.h>
#include <ulpscope/scales.h>
#include <ulpscope/tolerance.h>
#include <ulpscope/between.h>
#include <ulpscope/mixed.h>
#include <ulpscope/search.h>
#include <ulpscope/quantise.h>
#include <ulpscope/engine.h>
#include <ulpscope/extract.h>
#include <ulpscope/overflow.h>
#include <ulpscope/doctor.h>
#include <ulpscope/fix.h>
#include <ulpscope/prove.h>
#include <ulpscope/report.h>
#include <ulpscope/html.h>
#include <ulpscope/outputs.h>
#include <ulpscope/written.h>

/* The library's version, "MAJOR.MINOR.PATCH". A constant string. */
ULP_API const char *ulp_version(void);
/* The instruction sets of this processor that it uses, as "avx2, f16c"; of ULPSCOPE_DISABLE_CPU
 * (an environment variable, a list like this one) none are. A constant string. */
ULP_API const char *ulp_instruction_sets(void);

#endif
