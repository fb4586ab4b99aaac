/* The sandbox's layers, each of which works without the others:
 *
 * - resource limits;
 * - capabilities, which root has, given up;
 * - Landlock (Linux 5.13; landlock(7)): all files read-only, no TCP, no signals to others;
 * - a seccomp filter (Linux 3.17; seccomp(2)) of system calls, in syscalls.c.
 *
 * None needs root, a namespace or anything installed. What this guards against are
 * accidents: the kernel shares its address space with the code that judges it.
 */
#define _GNU_SOURCE
#include "sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "channel.h"
#include "syscalls.h"

enum { STACK_BYTES = 8 << 20, FILES = 64, PROCESSES = 4096 };

void limit(int resource, double amount)
{
    struct rlimit value;
    if (getrlimit(resource, &value) != 0)
        fail("getrlimit");
    if (value.rlim_max > (rlim_t)amount)
        value.rlim_max = (rlim_t)amount;
    if (value.rlim_cur > value.rlim_max)
        value.rlim_cur = value.rlim_max;
    if (setrlimit(resource, &value) != 0)
        fail("setrlimit");
}

/* Root keeps the right to read what belongs to others: caches may. */
static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &header, data) != 0)
        return false;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        data[i].permitted &= i == 0 ? 1u << CAP_DAC_READ_SEARCH : 0;
        data[i].effective = data[i].permitted;
        data[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, data) == 0;
}

/* Landlock's interface grew with the kernel, and its header may be older than it or missing:
 * numbers are from Documentation/userspace-api/landlock.rst. */
enum { CREATE_RULESET = 444, ADD_RULE, RESTRICT_SELF, ASK_VERSION = 1, PATH_BENEATH = 1 };
enum { READ_FILE = 1 << 2, READ_DIR = 1 << 3 };

/* Returns the version of Landlock in force, 0 for none. */
static int restrict_files(void)
{
    static const int file_rights[] = {0, 13, 14, 15, 15, 16}; /* bits there are, by version */
    struct {
        uint64_t files, network, scopes;
    } handled = {0};
    struct {
        uint64_t allowed;
        int32_t parent;
    } __attribute__((packed)) root = {READ_FILE | READ_DIR, -1};

    long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
    if (version < 1)
        return 0;
    handled.files = (1ull << file_rights[version < 5 ? version : 5]) - 1;
    handled.network = version >= 4 ? 3 : 0; /* bind and connect */
    handled.scopes = version >= 6 ? 3 : 0;  /* abstract sockets and signals */
    size_t size = 8 * (version < 4 ? 1 : version < 6 ? 2 : 3);
    int ruleset = (int)syscall(CREATE_RULESET, &handled, size, 0);
    root.parent = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool done = ruleset >= 0 && root.parent >= 0
        && syscall(ADD_RULE, ruleset, PATH_BENEATH, &root, 0) == 0
        && syscall(RESTRICT_SELF, ruleset, 0) == 0;
    close(root.parent);
    close(ruleset);
    return done ? (int)version : 0;
}

/* If memory runs out, this is the process that ends. */
static void volunteer_for_oom(void)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)!write(file, "1000", 4);
        close(file);
    }
}

static int highest(const int *descriptors, int count)
{
    int most = 0;
    for (int i = 0; i < count; i++)
        most = descriptors[i] > most ? descriptors[i] : most;
    return most;
}

void enter_sandbox(const int *kept, int count)
{
    volunteer_for_oom();
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_STACK, STACK_BYTES);
    limit(RLIMIT_NOFILE, FILES + highest(kept, count));
    bool unprivileged = drop_capabilities();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int landlock = restrict_files();
    bool filtered = filter_syscalls(kept, count);
    /* Counted per user, so it would hit other work too: only where nothing better is there. */
    if (!filtered)
        limit(RLIMIT_NPROC, PROCESSES);
    report("sandbox %d %d %d", filtered, landlock, unprivileged);
}
