/* Options as rows of data: a row says an option's type, where its value goes, what it excludes and
 * what it needs. From the same rows follow the parser and its errors (option_parse.c), --help,
 * manual pages and completions (option_describe.c), the check of files (outputs.c), the sandbox,
 * and the schemas that agents get (mcp/mcp_call.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <ulpscope.h>

enum option_kind {
    KIND_NONE,       /* seen to before options are read, as --max-time */
    KIND_HELP,       /* ends the program */
    KIND_SET,        /* takes no value: the member becomes `least` */
    KIND_TEXT,       /* of two the last counts */
    KIND_TEXTS,      /* each is one more */
    KIND_WORDS,      /* the same, each of several separated by commas */
    KIND_LIST,       /* all so far, separated by commas */
    KIND_INTEGER,    /* a whole number of [least, most]; most 0: no limit */
    KIND_NUMBER,     /* of [least, most] */
    KIND_SHARE,      /* above 0 and below 1 */
    KIND_BYTES,      /* as "2G" */
    KIND_ARITHMETIC, /* found: struct ulp_arithmetic */
    KIND_CHOICE,     /* one of "a|b|c", of which the first is `least`, the next one more */
    KIND_OWN         /* read by `read` */
};

struct option_row {
    const char *name;  /* behind "--", or what agents call a word */
    const char *value; /* as --help shows it; NULL: it takes none */
    const char *help;
    const char *also;    /* a second name; NULL: none */
    const char *missing; /* where there must be one: what is said when there is none */
    /* "NAME NAME: reason": options that do not go with it, and of which it needs one. Names that
     * the command has not are passed over. */
    const char *excludes, *needs;
    /* what is written into the folder that it names, between spaces; of an option with another
     * value what is written instead */
    const char *files;
    const char *fallback; /* its value where it is not given; NULL: none */
    enum ulp_status (*check)(const char *text, struct ulp_error *error); /* of texts; may be NULL */
    void (*read)(void *options, char *text);                             /* refuses what is wrong */
    enum option_kind kind;
    char letter, also_letter; /* 0: none */
    size_t bytes;             /* of its member of the options, which is at `at` */
    size_t at, count_at;
    double least, most;
    bool reads, writes; /* its value names a file or folder (both: it keeps what it reads again) */
    bool has_weights;   /* a model is written, whose weights may go to FILE.data */
    bool is_word;       /* no option: a word's place */
    bool is_optional;   /* its value may be left out */
    bool is_alone;      /* with it no word is needed */
    bool is_front;      /* on the first screen of --help */
    bool is_repeated;   /* may be given more than once, each counting */
};

/* Rows with a title in --help (NULL: none); their members are of the struct at `at` of the options.
 */
struct option_group {
    const char *title;
    const struct option_row *rows; /* the last has no name */
    size_t at;
};

struct command {
    const char *name, *summary;
    const char *purpose, *examples; /* of --help */
    const char *notes;              /* behind its options; NULL: none */
    const char *other_words;        /* another form of the words behind it; NULL: none */
    struct option_group groups[9];
    size_t size; /* of its options, zeros at first */
    /* Its options begin with struct common_options: it runs a model. */
    bool is_common;
    bool leads;                   /* to another command line, which the sandbox waits for */
    bool is_front;                /* on the first screen of the program's --help */
    void (*check)(void *options); /* what rows do not say; NULL: nothing */
    enum ulp_status (*run)(void *options, struct ulp_error *error);
};

/* ---- rows in tables, of members of PARSED ---- */

#define OPTION(name_, letter_, value_, type, help_) \
    {.name = name_, .letter = letter_, .value = value_, .help = help_, type},
#define WORD(name_, value_, type, missing_, help_) \
    {.name = name_, .value = value_, .is_word = true, .missing = missing_, .help = help_, type},
#define MEMBER(kind_, member) \
    .kind = kind_, .at = offsetof(PARSED, member), .bytes = sizeof(((PARSED *)0)->member)
#define SET(member, value_) MEMBER(KIND_SET, member), .least = value_
#define FLAG(member) SET(member, 1)
#define TEXT(member) MEMBER(KIND_TEXT, member)
#define TEXTS(items, count) MEMBER(KIND_TEXTS, items), .count_at = offsetof(PARSED, count) REPEATED
#define WORDS(items, count) MEMBER(KIND_WORDS, items), .count_at = offsetof(PARSED, count)
#define LIST(member) MEMBER(KIND_LIST, member)
#define INTEGER(member, least_, most_) MEMBER(KIND_INTEGER, member), .least = least_, .most = most_
#define NUMBER(member, least_, most_) MEMBER(KIND_NUMBER, member), .least = least_, .most = most_
#define SHARE(member) MEMBER(KIND_SHARE, member)
#define ARITHMETIC(member) MEMBER(KIND_ARITHMETIC, member)
#define BYTES(member) MEMBER(KIND_BYTES, member)
#define CHOICE(member, first) MEMBER(KIND_CHOICE, member), .least = first
#define TASK(member) CHOICE(member, ULP_TASK_NONE)
#define OWN(read_) .kind = KIND_OWN, .read = read_
#define CHECKED(check_) , .check = check_
#define DEFAULT(text) , .fallback = text
#define EXCLUDES(text) , .excludes = text
#define NEEDS(text) , .needs = text
#define ALSO(letter_, name_) , .also_letter = letter_, .also = name_
#define READ , .reads = true
#define WRITTEN , .writes = true
#define FILES(names) , .files = names
#define WEIGHTS , .has_weights = true
#define REQUIRED(text) , .missing = text
#define ALONE , .is_alone = true
#define OPTIONAL , .is_optional = true
#define FRONT , .is_front = true
#define REPEATED , .is_repeated = true
#define MODEL_WORD                                       \
    WORD("model", "MODEL.onnx", TEXT(common.model) READ, \
         "which model? Give the path of an .onnx file", "The .onnx file")
