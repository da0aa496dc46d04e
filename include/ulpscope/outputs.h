/* Several output files together or none of them. Every file that the library writes is whole or not
 * there; between ulp_outputs_hold and ulp_outputs_release this holds for all that the calling
 * thread's calls write: reports, pages, plans, recordings in JSON. Each is written to the disk, but
 * has no name (or one beside its own) until the release, which takes no memory. Written at once all
 * the same: the parts of an audit (part.h), which are to outlive it, archives of arrays (.npz), and
 * what is no regular file, such as a pipe. Nothing is written through a symbolic link to a file: a
 * path that is one is refused (ULP_ERROR_USAGE). */
#ifndef ULPSCOPE_OUTPUTS_H
#define ULPSCOPE_OUTPUTS_H

#include <stdbool.h>
#include <ulpscope/status.h>

/* Of the calling thread; a second one before the release changes nothing. */
ULP_API void ulp_outputs_hold(void);
/* Give all of them their names, in the order in which they were written; keep false: drop them.
 * Where one cannot get its name (ULP_ERROR_INPUT: the message names it), those after it are
 * dropped. Without ulp_outputs_hold nothing is done. */
ULP_API enum ulp_status ulp_outputs_release(bool keep, struct ulp_error *error);

#endif
