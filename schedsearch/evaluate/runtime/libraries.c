#define _GNU_SOURCE
#include "libraries.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A shared object as it is in its file, and the table that loaders read. */
struct image {
    const char *bytes;
    size_t size;
    const ElfW(Phdr) *segments;
    int count;
};

/* The file's bytes for an address of the loaded object; NULL outside. */
static const char *at(const struct image *image, ElfW(Addr) address)
{
    for (int i = 0; i < image->count; i++) {
        const ElfW(Phdr) *segment = &image->segments[i];
        ElfW(Addr) offset = address - segment->p_vaddr;
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr && offset < segment->p_filesz)
            return image->bytes + segment->p_offset + offset;
    }
    return NULL;
}

/* LLVM's library makes a file that lasts as long as its process should, but ours ends
 * without ceremony; nobody else reads it. */
static void initialise_openmp(void (*set_threads)(int), int threads)
{
    char registration[64];
    set_threads(threads);
    snprintf(registration, sizeof registration, "/dev/shm/__KMP_REGISTERED_LIB_%d_%d", (int)getpid(),
             (int)getuid());
    unlink(registration);
}

static void load(const char *name, int threads)
{
    void *library = dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
    void *set_threads = library ? dlsym(library, "omp_set_num_threads") : NULL;
    if (set_threads)
        initialise_openmp((void (*)(int))set_threads, threads);
}

static void load_needed(const struct image *image, const ElfW(Dyn) *dynamic, int threads)
{
    const char *names = NULL;
    for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_STRTAB)
            names = at(image, entry->d_un.d_ptr);
    for (const ElfW(Dyn) *entry = dynamic; names && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED)
            load(names + entry->d_un.d_val, threads);
}

/* The kernel comes from our own builder, which noted its checksum: no hostile file. One that
 * is missing or damaged is found out when it is loaded. */
void load_libraries(const char *kernel, int threads)
{
    struct stat status;
    int file = open(kernel, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0)
        return;
    char *bytes = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes == MAP_FAILED)
        return;
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)bytes;
    struct image image = {bytes, status.st_size, (const void *)(bytes + header->e_phoff),
                          header->e_phnum};
    for (int i = 0; i < image.count; i++)
        if (image.segments[i].p_type == PT_DYNAMIC)
            load_needed(&image, (const void *)(bytes + image.segments[i].p_offset), threads);
    munmap(bytes, status.st_size);
}
