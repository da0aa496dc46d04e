/* Words that the reports of an engine share. */
#pragma once

#include <ulpscope/engine.h>

#include "base/text/text.h"

/* "1 of 3 constraints were obeyed, 2 not obeyed. "; were all? */
bool ulp_wishes_say(struct ulp_text *out, const struct ulp_wishes *wishes);
/* The verdict, a sentence or two on one line. */
void ulp_engine_verdict(const struct ulp_engine_map *built, struct ulp_text *out);
