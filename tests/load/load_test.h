/* What the parts of check_load share. */
#pragma once

#include "load/load.h"
#include "tests/support/proto.h"
#include "tests/support/test.h"

/* Load a message as a model (freed). Failing to load fails the test. */
struct ulp_model *load_proto(struct proto *model);
/* As above, where loading must fail: status, and a one-line message that has `text` in it. */
void expect_failure(struct proto *model, enum ulp_status status, const char *text);
/* "Identity" from x to y: a graph to which more can be added. */
struct proto identity_graph(void);
/* A message with such a graph and this initializer (freed), called t. */
struct proto model_with_tensor(struct proto *tensor);
