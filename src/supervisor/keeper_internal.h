/* keeper_internal.h: what keeper.c and keeper_record.c share. */
#ifndef HARK_SUPERVISOR_KEEPER_INTERNAL_H
#define HARK_SUPERVISOR_KEEPER_INTERNAL_H

#include "keeper.h"

struct hark_keeper {
    struct hark_keeper_config config;
    struct hark_service_config service; /* of the core */
    struct hark *core;
    uint64_t record;  /* id of the last record written or read */
    uint8_t *back;    /* of each rank: it went back with the last change */
    uint32_t *of;     /* a map, for those who ask */
    uint64_t *undone; /* checkpoints, for those who ask */
    uint32_t undone_room;
    bool tidy;               /* there are no records but the last two */
    bool resumed, recording; /* recording: RECORD is due, which hark_keeper_commit() does */
    int answer;              /* of the last fact */
    char error[HARK_KEEPER_ERROR];
};

/* The ids of all records under `key`, ascending: to be freed. *have: how many, or a status of the
 * store. */
uint64_t *hark_keeper_records(struct hark_store *store, uint32_t key, int *have);
/* Writes the next record and forgets the last but one. HARK_KEEPER_OK, HARK_KEEPER_EDURABLE. */
int hark_keeper_write(struct hark_keeper *k);
/* Takes the newest record that is whole, if there is any (k->resumed). HARK_KEEPER_OK, then
 * k->error says what is wrong with the newest, if it is another one; HARK_KEEPER_EDURABLE,
 * HARK_KEEPER_EINVAL, HARK_KEEPER_EMEMORY. */
int hark_keeper_read(struct hark_keeper *k);
/* Takes the record `id` under `key`: HARK_KEEPER_OK, HARK_KEEPER_EINVAL (of another job),
 * HARK_KEEPER_EDURABLE (damaged), HARK_KEEPER_EMEMORY. */
int hark_keeper_take(struct hark_keeper *k, struct hark_store *from, uint32_t key, uint64_t id);
/* More memory for the core, as much as it asked for. False: there is none. */
bool hark_keeper_grow(struct hark_keeper *k);
/* The identity in the record `id` under `key`, a string to be freed; NULL: the record can not be
 * read, store->error says why. */
char *hark_keeper_identity(struct hark_store *store, uint32_t key, uint64_t id);

#endif
