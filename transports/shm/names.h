/* names.h: whatever the linker sees begins with hark_. */
#ifndef HARK_SHM_NAMES_H
#define HARK_SHM_NAMES_H

#define segment_bell_name    hark_shm_segment_bell_name
#define segment_ring_name    hark_shm_segment_ring_name
#define segment_lent_name    hark_shm_segment_lent_name
#define segment_empty        hark_shm_segment_empty
#define segment_make_spare   hark_shm_segment_make_spare
#define segment_make         hark_shm_segment_make
#define segment_publish      hark_shm_segment_publish
#define segment_map          hark_shm_segment_map
#define segment_unmap        hark_shm_segment_unmap
#define segment_reserve      hark_shm_segment_reserve
#define segment_remove       hark_shm_segment_remove
#define segment_memory       hark_shm_segment_memory
#define segment_leaves       hark_shm_segment_leaves
#define segment_remove_older hark_shm_segment_remove_older
#define segment_sweep        hark_shm_segment_sweep
#define bell_open            hark_shm_bell_open
#define bell_unmap           hark_shm_bell_unmap
#define bell_announce        hark_shm_bell_announce
#define bell_sleep           hark_shm_bell_sleep
#define bell_wake            hark_shm_bell_wake
#define bell_register        hark_shm_bell_register
#define bell_barrier         hark_shm_bell_barrier
#define ring_make            hark_shm_ring_make
#define ring_map             hark_shm_ring_map
#define ring_unmap           hark_shm_ring_unmap
#define ring_rewind          hark_shm_ring_rewind
#define ring_make_room       hark_shm_ring_make_room
#define ring_grow            hark_shm_ring_grow
#define ring_missing         hark_shm_ring_missing
#define lent_make            hark_shm_lent_make
#define lent_remove          hark_shm_lent_remove
#define lent_close           hark_shm_lent_close
#define lent_find            hark_shm_lent_find
#define lent_look            hark_shm_lent_look
#define end_failed           hark_shm_end_failed
#define end_no_memory        hark_shm_end_no_memory
#define out_free             hark_shm_out_free
#define out_want             hark_shm_out_want
#define out_has_room         hark_shm_out_has_room
#define in_free              hark_shm_in_free
#define meet_announced       hark_shm_meet_announced
#define shm_send             hark_shm_send
#define shm_behind           hark_shm_behind
#define shm_poll             hark_shm_poll
#define shm_has_work         hark_shm_has_work
#define shm_withdraw         hark_shm_withdraw
#define direct_now           hark_shm_direct_now
#define direct_open          hark_shm_direct_open
#define direct_copy          hark_shm_direct_copy
#define direct_measured      hark_shm_direct_measured

#endif
