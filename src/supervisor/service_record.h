/* service_record.h: the state of the failure service, and its form in a store. Internal to the service.
 *
 * A record is an image of two sections. STATE, little-endian: u32 version, ranks, kind of the protocol,
 * re, incarnation of the recovery process, finished, groups; for each rank u32 incarnation, u32 1 if in D; for each group
 * u32 waves kept, u32 waves ever decided, u64 for each wave kept, ascending; for each rank u32 epochs that began, u32 0, u64 for
 * the call of each, ascending (epochs.h); and where clusters have changed for each map u64 the wave that brought it into force, for each
 * rank u32 its cluster. IDENTITY: lines NAME=VALUE.
 */
#ifndef HARK_SUPERVISOR_SERVICE_RECORD_H
#define HARK_SUPERVISOR_SERVICE_RECORD_H

#include "../control/epochs.h"
#include "service.h"

#define HARK_SERVICE_GENERATIONS 8

struct hark_service_group {
    uint64_t wave[HARK_SERVICE_GENERATIONS]; /* decided and not trimmed away, ascending */
    uint32_t count;
    uint32_t decided; /* how many ever were */
};

struct hark_service_map { /* of clusters */
    uint64_t since; /* the wave that brought it into force; 0: of the configuration */
    uint32_t *of;   /* owned; of the configuration: its own */
};

struct hark_service {
    struct hark_service_config config;
    uint32_t ranks, groups, re, recovery_inc;
    uint32_t *inc;  /* of each rank */
    uint8_t *down;  /* of each rank: 1 if in D */
    struct hark_service_group *group;
    struct hark_service_map map[HARK_SERVICE_GENERATIONS + 3]; /* ascending; the last is in force */
    uint32_t maps;
    uint32_t *next; /* the map that is to come; NULL: none */
    bool behind;    /* who goes back now goes behind a change of the map: all do */
    struct hark_epochs *epochs; /* of each rank, where a recovery line says who goes back */
    uint64_t record; /* id of the last record written or read */
    bool resumed, finished;
    char error[HARK_SERVICE_ERROR];
};

/* Writes the next record and forgets the last but one. HARK_SERVICE_OK, HARK_SERVICE_EDURABLE. */
int hark_service_write(struct hark_service *s);
/* Takes the newest record that is whole, if there is any (s->resumed). HARK_SERVICE_OK, HARK_SERVICE_EDURABLE,
 * HARK_SERVICE_EINVAL. */
int hark_service_read(struct hark_service *s);
/* The identity in the record `id` under `key`, a string to be freed; NULL: the record can not be read, store->error says why. */
char *hark_service_identity(struct hark_store *store, uint32_t key, uint64_t id);

#endif
