"""Words that languages keep for themselves."""

from __future__ import annotations

_C = """
auto bool break case char const continue default do double else enum extern false float for goto
if inline int long register restrict return short signed sizeof static struct switch true typedef
union unsigned void volatile while asm typeof
"""
_CPP = """
alignas alignof and and_eq bitand bitor catch class compl concept const_cast consteval constexpr
constinit co_await co_return co_yield decltype delete dynamic_cast explicit export friend mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public
reinterpret_cast requires static_assert static_cast template this thread_local throw try typeid
typename using virtual wchar_t xor xor_eq
"""

_MATH = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2
expm1 fabs fdim finite floor fma fmax fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp
lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter
nexttoward pow remainder remquo rint round scalb scalbln scalbn significand signbit sin sincos
sinh sqrt tan tanh tgamma trunc y0 y1 yn
"""

_HEADERS = """
a64l abort abs aligned_alloc alloca arc4random arc4random_buf arc4random_uniform asprintf
at_quick_exit atexit atof atoi atol atoll basename bcmp bcopy blkcnt_t blksize_t bsearch bzero
caddr_t calloc clearenv clearerr clearerr_unlocked clockid_t ctermid cuserid daddr_t div dprintf
drand48 drand48_r ecvt ecvt_r erand48 erand48_r exit explicit_bzero fclose fcloseall fcvt fcvt_r
fd_mask fd_set fdopen feof feof_unlocked ferror ferror_unlocked fflush fflush_unlocked ffs ffsl
ffsll fgetc fgetc_unlocked fgetpos fgets fgets_unlocked fileno fileno_unlocked flockfile fmemopen
fopen fopencookie fprintf fputc fputc_unlocked fputs fputs_unlocked fread fread_unlocked free
freopen fsblkcnt_t fscanf fseek fseeko fsetpos fsfilcnt_t fsid_t ftell ftello ftrylockfile
funlockfile fwrite fwrite_unlocked gcvt getc getc_unlocked getchar getchar_unlocked getdelim getenv
getline getloadavg getpt gets getsubopt getw grantpt index initstate initstate_r jrand48 jrand48_r
l64a labs lcong48 lcong48_r ldiv ldiv_t lgamma_r lgammaf_r lgammal_r llabs lldiv lldiv_t locale_t
lrand48 lrand48_r madvise malloc mblen mbstowcs mbtowc memccpy memchr memcmp memcpy memfrob memmem
memmove mempcpy memrchr memset mincore mkdtemp mkostemp mkostemps mkstemp mkstemps mktemp mlock
mlock2 mlockall mmap mprotect mrand48 mrand48_r mremap msync munlock munlockall munmap nrand48
nrand48_r on_exit open_memstream pclose perror pkey_alloc pkey_free pkey_get pkey_mprotect pkey_set
popen posix_madvise posix_memalign posix_openpt printf process_madvise process_mrelease pselect
pthread_t ptsname ptsname_r putc putc_unlocked putchar putchar_unlocked putenv puts putw qecvt
qecvt_r qfcvt qfcvt_r qgcvt qsort qsort_r quick_exit rand rand_r random random_r rawmemchr realloc
reallocarray realpath remap_file_pages remove rename renameat renameat2 rewind rindex rpmatch scanf
secure_getenv seed48 seed48_r select setbuf setbuffer setenv setlinebuf setstate setstate_r setvbuf
shm_open shm_unlink signgam sigset_t snprintf sprintf srand srand48 srand48_r srandom srandom_r
sscanf stpcpy stpncpy strcasecmp strcasestr strcat strchr strchrnul strcmp strcoll strcpy strcspn
strdup strerror strerror_r strfry strlen strncasecmp strncat strncmp strncpy strndup strnlen
strpbrk strrchr strsep strsignal strspn strstr strtod strtof strtok strtok_r strtol strtold strtoll
strtoq strtoul strtoull strtouq strverscmp strxfrm suseconds_t system tempnam timer_t tmpfile
tmpnam tmpnam_r ungetc unlockpt unsetenv useconds_t valloc vasprintf vdprintf vfprintf vfscanf
vprintf vscanf vsnprintf vsprintf vsscanf wcstombs wctomb
"""

C_WORDS = frozenset(_C.split())
"""C11 as gcc and clang have it, and what the headers of generated C define."""

CPP_WORDS = frozenset(_CPP.split())
"""C++20, without those of C."""

LOWER_MACROS = frozenset({"bool", "true", "false", "stdin", "stdout", "stderr", "errno", "complex"})
"""Macros of C's headers that look like variables."""

MATH_MACROS = frozenset(
    {
        *("NAN", "INFINITY", "HUGE_VAL", "HUGE_VALF", "HUGE_VALL", "MAXFLOAT", "HUGE", "DOMAIN"),
        *("OVERFLOW", "UNDERFLOW", "SING", "TLOSS", "PLOSS", "FP_NAN", "FP_INFINITE", "FP_ZERO"),
        *("FP_NORMAL", "FP_SUBNORMAL", "M_E", "M_PI", "M_PI_2", "M_PI_4", "M_1_PI", "M_2_PI"),
        *("M_LOG2E", "M_LOG10E", "M_LN2", "M_LN10", "M_2_SQRTPI", "M_SQRT2", "M_SQRT1_2"),
    }
)
"""Macros of `math.h`."""

MATH_H = frozenset(f"{name}{kind}" for name in _MATH.split() for kind in ("", "f", "l"))
"""Functions of `math.h`: no other function can have their names where it is included."""

DECLARED = MATH_H | frozenset(_HEADERS.split())
"""What headers around a kernel declare, also `stdlib.h`, `stdio.h`, `string.h` and `sys/mman.h`: no
other function, type or constant can have these names."""
