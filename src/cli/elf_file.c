#include "elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST (256u << 20) /* bytes of a table: a larger one is not looked at */

/* `length` bytes of the file from `offset` on, and a 0 behind them; NULL: they are not all there.
 * To be freed. Not mapped: a file that another process shortens must not end us by SIGBUS. */
static void *piece(const struct hark_elf *e, uint64_t offset, uint64_t length)
{
    if (length > LARGEST || offset > e->size || length > e->size - offset) return NULL;
    char *at = malloc((size_t)length + 1);
    for (size_t done = 0; at && done < length;) {
        ssize_t n = pread(e->fd, at + done, (size_t)length - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            free(at);
            return NULL;
        }
        done += (size_t)n;
    }
    if (at) at[length] = 0;
    return at;
}

/* Where the byte at this address of the program lies in the file; UINT64_MAX: nowhere. */
static uint64_t offset_of(const struct hark_elf *e, uint64_t address)
{
    const Elf64_Phdr *p = e->segments;
    for (size_t i = 0; i < e->segment_count; i++)
        if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr &&
            address - p[i].p_vaddr < p[i].p_filesz &&
            p[i].p_offset <= UINT64_MAX - (address - p[i].p_vaddr))
            return p[i].p_offset + (address - p[i].p_vaddr);
    return UINT64_MAX;
}

static uint64_t dynamic_value(const struct hark_elf *e, int64_t tag)
{
    const Elf64_Dyn *d = e->dynamic;
    for (size_t i = 0; i < e->dynamic_count; i++)
        if (d[i].d_tag == tag) return d[i].d_un.d_val;
    return 0;
}

static void read_dynamic(struct hark_elf *e, const Elf64_Phdr *segment)
{
    e->dynamic = piece(e, segment->p_offset, segment->p_filesz);
    if (e->dynamic == NULL) return;
    const Elf64_Dyn *d = e->dynamic;
    const size_t room = segment->p_filesz / sizeof *d;
    while (e->dynamic_count < room && d[e->dynamic_count].d_tag != DT_NULL) e->dynamic_count++;
    e->strings_length = dynamic_value(e, DT_STRSZ);
    e->strings = piece(e, offset_of(e, dynamic_value(e, DT_STRTAB)), e->strings_length);
    if (e->strings == NULL) e->strings_length = 0;
}

static void read_segments(struct hark_elf *e, const Elf64_Ehdr *h)
{
    if (h->e_phentsize != sizeof(Elf64_Phdr)) return;
    e->segments = piece(e, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr));
    if (e->segments) e->segment_count = h->e_phnum;
    const Elf64_Phdr *p = e->segments;
    for (size_t i = 0; i < e->segment_count; i++) {
        e->starts_with_loader |= p[i].p_type == PT_INTERP;
        if (p[i].p_type == PT_DYNAMIC && e->dynamic == NULL) read_dynamic(e, &p[i]);
    }
}

static enum hark_elf_status kind(const struct hark_elf *e)
{
    static const uint16_t one = 1;
    const uint8_t order = *(const uint8_t *)&one ? ELFDATA2LSB : ELFDATA2MSB;
    enum hark_elf_status status = HARK_ELF_NOT;
    uint8_t *ident = piece(e, 0, EI_NIDENT);
    char *mark = piece(e, 0, 2);
    if (mark && memcmp(mark, "#!", 2) == 0) status = HARK_ELF_SCRIPT;
    else if (ident && memcmp(ident, ELFMAG, SELFMAG) == 0)
        status =
            ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == order ? HARK_ELF_OK : HARK_ELF_OTHER;
    free(ident);
    free(mark);
    return status;
}

enum hark_elf_status hark_elf_open(struct hark_elf *e, const char *path)
{
    struct stat st;
    *e = (struct hark_elf){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (e->fd < 0) return HARK_ELF_NOT;
    enum hark_elf_status status = HARK_ELF_NOT;
    if (fstat(e->fd, &st) == 0 && S_ISREG(st.st_mode)) {
        e->size = (uint64_t)st.st_size;
        status = kind(e);
    }
    Elf64_Ehdr *h = status == HARK_ELF_OK ? piece(e, 0, sizeof *h) : NULL;
    if (h) read_segments(e, h);
    else if (status == HARK_ELF_OK) status = HARK_ELF_NOT;
    free(h);
    if (status != HARK_ELF_OK) close(e->fd);
    return status;
}

void hark_elf_close(struct hark_elf *e)
{
    close(e->fd);
    free(e->segments);
    free(e->dynamic);
    free(e->strings);
}

const char *hark_elf_string(const struct hark_elf *e, int64_t tag, size_t n)
{
    const Elf64_Dyn *d = e->dynamic;
    for (size_t i = 0; i < e->dynamic_count; i++)
        if (d[i].d_tag == tag && n-- == 0)
            return d[i].d_un.d_val < e->strings_length ? e->strings + d[i].d_un.d_val : "";
    return NULL;
}

/* ---- symbols --------------------------------------------------------------------------------- */

static bool visit_table(const struct hark_elf *e, const Elf64_Shdr *table,
    const Elf64_Shdr *strings, hark_elf_visitor *visitor, void *self)
{
    bool found = false;
    Elf64_Sym *symbol = piece(e, table->sh_offset, table->sh_size);
    char *text = symbol ? piece(e, strings->sh_offset, strings->sh_size) : NULL;
    for (size_t i = 0; text && !found && i < table->sh_size / sizeof *symbol; i++)
        if (symbol[i].st_name < strings->sh_size)
            found = visitor(self, text + symbol[i].st_name, symbol[i].st_shndx != SHN_UNDEF);
    free(symbol);
    free(text);
    return found;
}

bool hark_elf_visit(const struct hark_elf *e, hark_elf_visitor *visitor, void *self)
{
    bool found = false;
    Elf64_Ehdr *h = piece(e, 0, sizeof *h);
    Elf64_Shdr *section = NULL;
    if (h && h->e_shentsize == sizeof *section)
        section = piece(e, h->e_shoff, (uint64_t)h->e_shnum * sizeof *section);
    for (unsigned i = 0; section && !found && i < h->e_shnum; i++)
        if ((section[i].sh_type == SHT_SYMTAB || section[i].sh_type == SHT_DYNSYM) &&
            section[i].sh_link < h->e_shnum)
            found = visit_table(e, &section[i], &section[section[i].sh_link], visitor, self);
    free(section);
    free(h);
    return found;
}

static bool is_defined(void *self, const char *name, bool defined)
{
    return defined && strcmp(name, self) == 0;
}

bool hark_elf_defines(const struct hark_elf *e, const char *name)
{
    return hark_elf_visit(e, is_defined, (void *)(uintptr_t)name);
}
