/* elf_file.h: what an executable file or a library says of itself: the libraries that it needs,
 * where they are looked for, and the functions that it has. Whatever the file holds, also a damaged
 * one, nothing outside of it is read. */
#ifndef HARK_CLI_ELF_FILE_H
#define HARK_CLI_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hark_elf_status {
    HARK_ELF_OK,
    HARK_ELF_NOT,    /* no ELF file, or one that can not be read, or damaged */
    HARK_ELF_SCRIPT, /* it begins with #! */
    HARK_ELF_OTHER   /* of another word length or byte order than this machine's 64-bit programs */
};

struct hark_elf { /* of an open file */
    int fd;
    uint64_t size;
    bool starts_with_loader; /* it is dynamically linked: ld.so loads what it needs */
    void *segments, *dynamic;
    size_t segment_count, dynamic_count;
    char *strings; /* of the dynamic section; the last byte is 0 */
    size_t strings_length;
};

/* Opens the file at `path`. Only after HARK_ELF_OK it is to be closed. */
enum hark_elf_status hark_elf_open(struct hark_elf *e, const char *path);
void hark_elf_close(struct hark_elf *e);
/* The string of the dynamic entry with this DT_ tag, which is the n-th of them from 0; NULL: there
 * are fewer. It lasts until hark_elf_close(). */
const char *hark_elf_string(const struct hark_elf *e, int64_t tag, size_t n);
/* Calls the visitor with each symbol of the file, some of them twice, until it returns true; then
 * that. `defined`: this very file has what the name stands for. A stripped file has few names. */
typedef bool hark_elf_visitor(void *self, const char *name, bool defined);
bool hark_elf_visit(const struct hark_elf *e, hark_elf_visitor *visitor, void *self);
/* Is there a symbol of that name which this very file defines? A stripped file may not say so. */
bool hark_elf_defines(const struct hark_elf *e, const char *name);

#endif
