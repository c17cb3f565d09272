/* partition_svg.c: the matrix with the ranks of a cluster side by side, and the clusters outlined.
 * A row of the picture is a path for each shade, neighbouring fields of one shade are one stroke;
 * of more than 512 ranks several share a field. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "partition.h"
#include "../view/words.h"

enum { FIELDS = 512, SHADES = 5, SIDE = 768, MARGIN = 60, LETTERS = 110 /* of a line */ };

struct picture {
    const struct hark_partition *p;
    uint32_t fields, each; /* fields of a side; ranks of a field */
    uint32_t *place;       /* of a rank, clusters side by side */
    uint32_t *begin;       /* of a cluster, by place */
    uint64_t *sum;         /* of a field, by rows */
};

static int make(struct picture *d, const struct hark_partition *p, const struct hark_matrix *m)
{
    *d = (struct picture){.p = p, .each = (p->ranks + FIELDS - 1) / FIELDS};
    d->fields = (p->ranks + d->each - 1) / d->each;
    d->place = malloc(((size_t)p->ranks + 1) * sizeof *d->place);
    d->begin = calloc((size_t)p->clusters + 2, sizeof *d->begin);
    d->sum = calloc((size_t)d->fields * d->fields, sizeof *d->sum);
    if (!d->place || !d->begin || !d->sum) return -1;
    for (uint32_t v = 0; v < p->ranks; v++) d->begin[p->of[v] + 2]++;
    for (uint32_t c = 2; c < p->clusters + 2; c++) d->begin[c] += d->begin[c - 1];
    for (uint32_t v = 0; v < p->ranks; v++) d->place[v] = d->begin[p->of[v] + 1]++;
    for (uint32_t v = 0; v < p->ranks; v++)
        for (uint64_t k = m->first[v]; k < m->first[v + 1]; k++)
            if (m->column[k] != v)
                d->sum[(uint64_t)(d->place[v] / d->each) * d->fields +
                       d->place[m->column[k]] / d->each] += m->value[k];
    return 0;
}

/* 0: nothing; 1 .. SHADES: the largest are SHADES, each shade is a sixteenth of the next one at
 * least. */
static int shade(uint64_t value, uint64_t most)
{
    int s = SHADES;
    for (; s > 1 && value <= most / 16; s--) most /= 16;
    return value ? s : 0;
}

static void put_shade(const struct picture *d, int which, uint64_t most, FILE *f)
{
    fprintf(f, "<path class=\"s%d\" d=\"", which);
    for (uint32_t y = 0; y < d->fields; y++) {
        const uint64_t *row = d->sum + (uint64_t)y * d->fields;
        bool moved = false;
        for (uint32_t x = 0, from = 0; x < d->fields; x++) {
            if (shade(row[x], most) != which) continue;
            uint32_t end = x + 1;
            while (end < d->fields && shade(row[end], most) == which) end++;
            if (!moved) fprintf(f, "M%" PRIu32 " %" PRIu32 "h%" PRIu32, x, y, end - x);
            else fprintf(f, "m%" PRIu32 " 0h%" PRIu32, x - from, end - x);
            moved = true;
            from = x = end;
        }
    }
    fputs("\"/>\n", f);
}

static void outlines(const struct picture *d, double scale, FILE *f)
{
    for (uint32_t c = 0; c < d->p->clusters; c++) {
        double from = (double)d->begin[c] / d->each,
               size = (double)(d->begin[c + 1] - d->begin[c]) / d->each;
        fprintf(f,
            "<rect class=\"c\" stroke-width=\"%.3g\" x=\"%.5g\" y=\"%.5g\" width=\"%.5g\" "
            "height=\"%.5g\"/>\n",
            2 / scale, from, from, size, size);
    }
}

static void labels(const struct picture *d, double scale, FILE *f)
{
    for (uint32_t c = 0; c < d->p->clusters; c++) {
        double size = (double)(d->begin[c + 1] - d->begin[c]) / d->each * scale;
        double middle = ((double)d->begin[c] + d->begin[c + 1]) / 2 / d->each * scale;
        if (size < 12) continue; /* its number would hide its neighbour's */
        fprintf(f,
            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%" PRIu32 ": %" PRIu32 "</text>\n",
            MARGIN - 6, MARGIN + middle + 4, c, d->begin[c + 1] - d->begin[c]);
    }
}

int partition_write_svg(const struct hark_partition *p, const struct hark_matrix *m, bool ordered,
    const char *name, FILE *f)
{
    struct picture d;
    uint64_t most = 0;
    int status = make(&d, p, m);
    if (status == 0) {
        double scale = (double)SIDE / d.fields;
        for (uint64_t i = 0; i < (uint64_t)d.fields * d.fields; i++)
            if (d.sum[i] > most) most = d.sum[i];
        fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" "
            "font-size=\"12\">\n"
            "<style>path{fill:none;stroke-width:1}.s5{stroke:#03234d}.s4{stroke:#1f5fa8}.s3{stroke:"
            "#5b9bd5}.s2{"
            "stroke:#a5c8ea}"
            ".s1{stroke:#dce9f6}.c{fill:none;stroke:#d22}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"20\">",
            SIDE + MARGIN + 20, SIDE + MARGIN + 20, MARGIN);
        const char *slash = strrchr(name, '/');
        hark_words(slash ? slash + 1 : name, LETTERS, HARK_WORDS_TAIL, f);
        fprintf(f,
            "</text>\n<text x=\"%d\" y=\"40\">%" PRIu32 " rank%s in %" PRIu32
            " cluster%s: %.2f %% logged, %.2f %% rolled back, "
            "cost %.2f %%; rows send, columns receive</text>\n",
            MARGIN, p->ranks, p->ranks == 1 ? "" : "s", p->clusters, p->clusters == 1 ? "" : "s",
            hark_cluster_logged(&p->figures) * 100,
            hark_cluster_rolled_back(&p->figures, ordered) * 100, p->cost * 100);
        fprintf(f,
            "<g transform=\"translate(%d %d) scale(%.5g)\">\n<rect width=\"%" PRIu32
            "\" height=\"%" PRIu32 "\" fill=\"#fafafa\"/>\n<g transform=\"translate(0 .5)\">\n",
            MARGIN, MARGIN, scale, d.fields, d.fields);
        for (int s = 1; s <= SHADES; s++) put_shade(&d, s, most, f);
        fputs("</g>\n", f);
        outlines(&d, scale, f);
        fputs("</g>\n", f);
        labels(&d, scale, f);
        fputs("</svg>\n", f);
    }
    free(d.place);
    free(d.begin);
    free(d.sum);
    return status;
}
