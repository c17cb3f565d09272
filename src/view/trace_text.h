/* trace_text.h: the text form of a record, shared by those who write it and those who read it. */
#ifndef HARK_VIEW_TRACE_TEXT_H
#define HARK_VIEW_TRACE_TEXT_H

#include "trace.h"

enum hark_trace_field {
    HARK_TF_END = 0, /* no more fields */
    HARK_TF_TO,
    HARK_TF_FROM,
    HARK_TF_CTX,
    HARK_TF_SSN,
    HARK_TF_PHASE,
    HARK_TF_BYTES,
    HARK_TF_ID,
    HARK_TF_RE,
    HARK_TF_DOWN,
    HARK_TF_LAST,
    HARK_TF_COUNT
};

#define HARK_TF_MOST 6 /* fields of a kind, HARK_TF_END included */

struct hark_trace_form {
    const char *word;
    uint8_t field[HARK_TF_MOST];
};

extern const struct hark_trace_form hark_trace_forms[HARK_TRACE_KINDS];
extern const char *const hark_trace_field_words[HARK_TF_COUNT];

/* The three parts of the text. They return nothing: ferror(out) says at the end whether all went
 * well. `zero` is the time of the first record, ns. The job is one that hark_trace_job_invalid
 * accepts. */
void hark_trace_text_head(FILE *out, const struct hark_trace_job *job);
void hark_trace_text_record(FILE *out, const struct hark_trace_record *r, uint64_t zero);
void hark_trace_text_end(FILE *out, uint64_t records, uint64_t lost, bool unfinished);

/* NULL if the record belongs into a trace of so many ranks, else what is wrong with it. */
const char *hark_trace_record_invalid(const struct hark_trace_record *r, uint32_t ranks);

#endif
