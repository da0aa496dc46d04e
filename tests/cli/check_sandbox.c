/* Landlock: what is not allowed fails, and what is allowed goes on. In processes of their own,
 * which cannot leave it. */
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/sandbox/landlock.h"

static bool has_landlock(void)
{
    if (landlock_version())
        return true;
    printf("this kernel has no Landlock: the sandbox is not tried\n");
    return false;
}

static void write_byte(const char *path)
{
    const int file = open(path, O_WRONLY | O_CREAT, 0666);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, "x", 1), 1);
    close(file);
}

static void create_files(void)
{
    test_folder_create();
    ck_assert_int_eq(mkdir(test_folder("in"), 0777), 0);
    ck_assert_int_eq(mkdir(test_folder("out"), 0777), 0);
    write_byte(test_folder("in/given"));
    write_byte(test_folder("secret"));
    ck_assert_int_eq(symlink("../secret", test_folder("in/link")), 0);
}

/* Each number is what failed to be allowed or forbidden. */
static int try_files(void)
{
    const int open_before = open(test_folder("secret"), O_RDONLY), rules = landlock_open();
    char byte;
    if (rules < 0 || landlock_allow(rules, test_folder("in"), LANDLOCK_READ) != 0 ||
        landlock_allow(rules, test_folder("out"), LANDLOCK_WRITE) != 0 ||
        landlock_allow(rules, test_folder("nothing"), LANDLOCK_READ) != 0 ||
        landlock_enter(rules) != 0)
        return 1;
    if (open(test_folder("in/given"), O_RDONLY) < 0)
        return 2;
    if (open(test_folder("in/given"), O_WRONLY) >= 0 || errno != EACCES)
        return 3;
    if (open(test_folder("in/new"), O_WRONLY | O_CREAT, 0666) >= 0 || errno != EACCES)
        return 4;
    if (open(test_folder("secret"), O_RDONLY) >= 0 || errno != EACCES)
        return 5;
    if (open(test_folder("in/link"), O_RDONLY) >= 0 || errno != EACCES)
        return 6;
    if (unlink(test_folder("secret")) == 0 || errno != EACCES)
        return 7;
    if (mkdir(test_folder("new"), 0777) == 0 || errno != EACCES)
        return 8;
    if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EACCES)
        return 9;
    if (read(open_before, &byte, 1) != 1)
        return 10;
    const int made = open(test_folder("out/new"), O_RDWR | O_CREAT, 0666);
    if (made < 0 || write(made, "y", 1) != 1)
        return 11;
    if (rename(test_folder("out/new"), test_folder("out/other")) != 0 ||
        mkdir(test_folder("out/folder"), 0777) != 0 || rmdir(test_folder("out/folder")) != 0)
        return 12;
    if (unlink(test_folder("out/other")) != 0)
        return 13;
    execl("/bin/true", "true", (char *)NULL);
    return errno == EACCES ? 0 : 14;
}

/* To a port where somebody listens. */
static int try_network(void)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof place;
    const int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr *)&place, sizeof place) != 0 || listen(server, 1) != 0 ||
        getsockname(server, (struct sockaddr *)&place, &length) != 0)
        return 0; /* no network here: nothing to forbid */
    const int rules = landlock_open();
    if (rules < 0 || landlock_enter(rules) != 0)
        return 1;
    return connect(client, (struct sockaddr *)&place, sizeof place) != 0 && errno == EACCES ? 0 : 2;
}

static int run_apart(int (*try)(void))
{
    int status;
    fflush(NULL);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(try());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(files_that_are_not_named_are_forbidden)
{
    if (has_landlock())
        ck_assert_int_eq(run_apart(try_files), 0);
}

TEST(connections_are_forbidden)
{
    if (has_landlock() && landlock_version() >= 4)
        ck_assert_int_eq(run_apart(try_network), 0);
}

TEST_MAIN("sandbox", 0)
{
    tcase_add_checked_fixture(tests, create_files, test_folder_remove);
}
