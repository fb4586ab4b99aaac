#define _GNU_SOURCE
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "channel.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifndef ARCHITECTURE
bool filter_syscalls(const int *kept, int count)
{
    (void)kept, (void)count;
    return false;
}
#else

#ifndef SECCOMP_FILTER_FLAG_SPEC_ALLOW
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW 4
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

/* Memory, threads, clocks, and reading: what kernels, libc and OpenMP libraries do. Not
 * sleeping, which the clock that kernels are timed by does not see. */
static const int allowed[] = {
    SYS_futex, SYS_sched_yield, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday,
    SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk,
    SYS_read, SYS_readv, SYS_pread64, SYS_write, SYS_writev, SYS_lseek, SYS_fcntl,
    SYS_fstat, SYS_newfstatat, SYS_statfs, SYS_fstatfs, SYS_faccessat, SYS_readlinkat,
    SYS_getdents64, SYS_getcwd, SYS_exit, SYS_exit_group, SYS_restart_syscall,
    SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_sigaltstack, SYS_setitimer, SYS_getitimer,
    SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_getparam, SYS_sched_getscheduler,
    SYS_getcpu, SYS_set_robust_list, SYS_set_tid_address, SYS_getpid, SYS_gettid, SYS_getppid,
    SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getrandom, SYS_sysinfo, SYS_uname,
    SYS_getrusage, SYS_times,
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_membarrier
    SYS_membarrier,
#endif
#ifdef SYS_statx
    SYS_statx,
#endif
#ifdef SYS_getrlimit
    SYS_getrlimit,
#endif
#ifdef SYS_open /* what older architectures have beside the calls above */
    SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_alarm,
    SYS_time, SYS_arch_prctl,
#endif
};

enum { NO_PATH = -1 };

/* Refused with a report; `path` is the argument that names a file. */
static const struct call {
    int number;
    const char *name;
    int path;
} refused[] = {
#define CALL(name, path) {SYS_##name, #name, path}
    CALL(nanosleep, NO_PATH), CALL(clock_nanosleep, NO_PATH), CALL(ppoll, NO_PATH),
    CALL(pselect6, NO_PATH), CALL(socket, NO_PATH), CALL(socketpair, NO_PATH), CALL(execve, 0), CALL(execveat, 1),
    CALL(setsid, NO_PATH), CALL(setpgid, NO_PATH), CALL(ptrace, NO_PATH),
    CALL(process_vm_readv, NO_PATH), CALL(process_vm_writev, NO_PATH), CALL(tkill, NO_PATH),
    CALL(rt_sigqueueinfo, NO_PATH), CALL(rt_tgsigqueueinfo, NO_PATH), CALL(unlinkat, 1),
    CALL(renameat2, 1), CALL(mkdirat, 1), CALL(mknodat, 1), CALL(linkat, 1), CALL(symlinkat, 2),
    CALL(fchmod, NO_PATH), CALL(fchmodat, 1), CALL(fchown, NO_PATH), CALL(fchownat, 1),
    CALL(truncate, 0), CALL(ftruncate, NO_PATH), CALL(fallocate, NO_PATH), CALL(utimensat, 1),
    CALL(setxattr, 0), CALL(removexattr, 0), CALL(pwrite64, NO_PATH), CALL(dup3, NO_PATH),
    CALL(chdir, 0), CALL(chroot, 0), CALL(pivot_root, 0), CALL(mount, 1), CALL(umount2, 0),
    CALL(unshare, NO_PATH), CALL(setns, NO_PATH), CALL(sync, NO_PATH), CALL(memfd_create, NO_PATH), CALL(pipe2, NO_PATH),
    CALL(shmget, NO_PATH), CALL(shmat, NO_PATH), CALL(semget, NO_PATH), CALL(msgget, NO_PATH),
    CALL(mq_open, NO_PATH), CALL(setuid, NO_PATH), CALL(setgid, NO_PATH), CALL(setreuid, NO_PATH),
    CALL(setresuid, NO_PATH), CALL(setresgid, NO_PATH), CALL(setgroups, NO_PATH),
    CALL(capset, NO_PATH), CALL(setpriority, NO_PATH), CALL(sched_setscheduler, NO_PATH),
    CALL(sched_setparam, NO_PATH), CALL(sched_setattr, NO_PATH), CALL(ioprio_set, NO_PATH),
    CALL(setrlimit, NO_PATH), CALL(seccomp, NO_PATH), CALL(personality, NO_PATH),
    CALL(clock_settime, NO_PATH), CALL(settimeofday, NO_PATH), CALL(adjtimex, NO_PATH),
    CALL(sethostname, NO_PATH), CALL(reboot, NO_PATH), CALL(syslog, NO_PATH), CALL(swapon, 0),
    CALL(swapoff, 0), CALL(init_module, NO_PATH), CALL(finit_module, NO_PATH),
    CALL(delete_module, NO_PATH), CALL(bpf, NO_PATH), CALL(perf_event_open, NO_PATH),
    CALL(userfaultfd, NO_PATH), CALL(keyctl, NO_PATH),
#ifdef SYS_close_range
    CALL(close_range, NO_PATH),
#endif
#ifdef SYS_pidfd_send_signal
    CALL(pidfd_send_signal, NO_PATH),
#endif
#ifdef SYS_io_uring_setup
    CALL(io_uring_setup, NO_PATH),
#endif
#ifdef SYS_renameat
    CALL(renameat, 1),
#endif
#ifdef SYS_open
    CALL(poll, NO_PATH), CALL(select, NO_PATH), CALL(pause, NO_PATH), CALL(fork, NO_PATH), CALL(vfork, NO_PATH), CALL(creat, 0), CALL(unlink, 0), CALL(rename, 0),
    CALL(mkdir, 0), CALL(rmdir, 0), CALL(link, 0), CALL(symlink, 1), CALL(mknod, 0), CALL(chmod, 0),
    CALL(chown, 0), CALL(lchown, 0), CALL(utime, 0), CALL(utimes, 0), CALL(dup2, NO_PATH), CALL(pipe, NO_PATH),
    CALL(iopl, NO_PATH), CALL(ioperm, NO_PATH),
#endif
    /* Allowed with some arguments, see `add_rules`. */
    CALL(openat, 1), CALL(clone, NO_PATH), CALL(kill, NO_PATH), CALL(tgkill, NO_PATH),
    CALL(close, NO_PATH), CALL(prctl, NO_PATH), CALL(prlimit64, NO_PATH),
    CALL(rt_sigaction, NO_PATH),
#ifdef SYS_open
    CALL(open, 0),
#endif
#undef CALL
};

enum { COUNT_ALLOWED = sizeof allowed / sizeof *allowed };
enum { COUNT_REFUSED = sizeof refused / sizeof *refused, LONGEST = 1024 };

struct filter {
    struct sock_filter code[LONGEST];
    unsigned short length;
};

static void emit(struct filter *filter, int code, unsigned k, int if_true, int if_false)
{
    if (filter->length == LONGEST || if_false > UINT8_MAX)
        fail("the filter of system calls is too long");
    filter->code[filter->length++] = (struct sock_filter){code, if_true, if_false, k};
}

static void answer(struct filter *filter, unsigned action)
{
    emit(filter, BPF_RET | BPF_K, action, 0, 0);
}

/* `action` for this call; the accumulator keeps the number of the call. */
static void on(struct filter *filter, int number, unsigned action)
{
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    answer(filter, action);
}

static void load_number(struct filter *filter)
{
    emit(filter, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
}

/* Open a block of `length` instructions for this call: it returns, or loads the number again. */
static void when(struct filter *filter, int number, int argument, int length)
{
    emit(filter, BPF_JMP | BPF_JEQ | BPF_K, number, 0, length + 1);
    emit(filter, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * argument, 0, 0);
}

/* By the bits of an argument: `any` of them set, or none. */
static void on_bits(struct filter *filter, int number, int argument, unsigned bits, unsigned any,
                    unsigned none)
{
    when(filter, number, argument, 3);
    emit(filter, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    answer(filter, any);
    answer(filter, none);
}

enum { BLOCK = 100 }; /* jumps are short */

/* By the value of an argument: one of `count`, or another. */
static void on_values(struct filter *filter, int number, int argument, const int *values, int count,
                      unsigned one, unsigned other)
{
    for (int done = 0; done < count; done += BLOCK) {
        int some = count - done < BLOCK ? count - done : BLOCK;
        when(filter, number, argument, 2 * some + 1);
        for (int i = done; i < done + some; i++)
            on(filter, values[i], one);
        load_number(filter);
    }
    on(filter, number, other);
}

static void add_rules(struct filter *filter, const int *kept, int count)
{
    enum { YES = SECCOMP_RET_ALLOW, NO = SECCOMP_RET_TRAP };
    const unsigned writing = O_ACCMODE | O_CREAT | O_TRUNC;
    int self = (int)getpid(), none = 0;
    int names[] = {PR_SET_NAME, PR_SET_VMA};
    int guards[] = {SIGSYS, SIGALRM, SIGXCPU};
    on_bits(filter, SYS_openat, 2, writing, NO, YES);
#ifdef SYS_open
    on_bits(filter, SYS_open, 1, writing, NO, YES);
#endif
    on_bits(filter, SYS_clone, 0, CLONE_THREAD, YES, NO);
    on_values(filter, SYS_close, 0, kept, count, NO, YES);
    on_values(filter, SYS_kill, 0, &self, 1, YES, NO);
    on_values(filter, SYS_tgkill, 0, &self, 1, YES, NO);
    on_values(filter, SYS_prctl, 0, names, 2, YES, NO);
    on_values(filter, SYS_rt_sigaction, 0, guards, 3, NO, YES);
    on_values(filter, SYS_prlimit64, 2, &none, 1, YES, NO); /* no new limit: a question */
    on(filter, SYS_ioctl, SECCOMP_RET_ERRNO | ENOTTY);
}

static long argument(const ucontext_t *context, int number)
{
#if defined(__x86_64__)
    static const int registers[] = {REG_RDI, REG_RSI, REG_RDX};
    return context->uc_mcontext.gregs[registers[number]];
#else
    return context->uc_mcontext.regs[number];
#endif
}

/* The kernel's process ends here: what is not safe in signal handlers does no more harm. */
static void on_refusal(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    for (int i = 0; i < COUNT_REFUSED; i++) {
        if (refused[i].number != info->si_syscall)
            continue;
        char path[200] = "";
        if (refused[i].path != NO_PATH)
            snprintf(path, sizeof path, "\"%.190s\"",
                     (const char *)argument(context, refused[i].path));
        for (char *c = path; *c; c++)
            if (*c < ' ' || *c > '~') /* reports are lines */
                *c = '?';
        report("refused %s %s", refused[i].name, path);
    }
    _exit(4);
}

bool filter_syscalls(const int *kept, int count)
{
    static struct filter filter;
    emit(&filter, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    emit(&filter, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    answer(&filter, SECCOMP_RET_KILL);
    load_number(&filter);
    for (int i = 0; i < COUNT_ALLOWED; i++)
        on(&filter, allowed[i], SECCOMP_RET_ALLOW);
    add_rules(&filter, kept, count);
    for (int i = 0; i < COUNT_REFUSED; i++)
        on(&filter, refused[i].number, SECCOMP_RET_TRAP);
    answer(&filter, SECCOMP_RET_ERRNO | ENOSYS); /* clone3 too: libc then uses clone */

    struct sigaction action = {.sa_sigaction = on_refusal, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
    struct sock_fprog program = {filter.length, filter.code};
    /* Before Linux 5.16 a filter slowed down memory accesses (SSBD) unless told not to. */
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0
        || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}
#endif
