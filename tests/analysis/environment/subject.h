/* Every public function that computes, reads or writes numbers, and what it gives, as one hash. */
#pragma once

struct digest {
    unsigned long long value;
};

struct subject {
    const char *name;
    void (*digest)(struct digest *digest);
};
extern const struct subject subjects[];
extern const int subject_count;

/* The model and the inputs that subjects share: made before, in a plain environment. */
void subjects_open(void);
void subjects_close(void);
