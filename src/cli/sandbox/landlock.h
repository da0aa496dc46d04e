/* Linux's Landlock (5.13 and later): from a moment on this process and its threads open no other
 * files than those beneath paths named before, start no program and (from 6.7 on) connect to
 * nothing over TCP. What is open stays open. It needs no right and cannot be undone. */
#pragma once

#include <stdbool.h>

/* What is allowed beneath a folder, or of a file. */
enum landlock_right {
    LANDLOCK_READ,
    LANDLOCK_WRITE, /* and read, make and remove files and folders */
    LANDLOCK_TIDY,  /* remove empty folders in it, no more */
};

/* The version of Landlock that the kernel has; 0: none, or it is switched off. */
int landlock_version(void);
/* A set of rules for landlock_allow, which landlock_enter closes. -1 and errno: it fails. */
int landlock_open(void);
/* A path that is not there is no rule, and no error. 0, or -1 and errno. */
int landlock_allow(int rules, const char *path, enum landlock_right right);
/* 0, or -1 and errno. Before other threads are started: those that run already are not bound. */
int landlock_enter(int rules);
