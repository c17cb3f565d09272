/* point.c: the endpoint: its provider, its address, its receive buffers. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "end.h"

static const struct library *library(void)
{
    char why[160];
    return hark_fabric_library(why);
}

/* ---- which provider -------------------------------------------------------------------------- */

static bool ask(struct fi_info *hints, const char *provider)
{
    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->fabric_attr->prov_name = strdup(provider);
    return hints->fabric_attr->prov_name != NULL;
}

static int choose(struct end *e, const char *provider, const char *node)
{
    const struct library *l = library();
    struct fi_info *hints = l->dupinfo(NULL);
    if (!hints || !ask(hints, provider)) {
        if (hints) l->freeinfo(hints);
        return hark_fabric_failed(e, "cannot ask for a provider", FI_ENOMEM);
    }
    const int status =
        l->getinfo(FABRIC_VERSION, node, NULL, node ? FI_SOURCE : 0, hints, &e->point.info);
    l->freeinfo(hints);
    if (status == 0 && e->point.info->tx_attr->inject_size >= HEAD_BYTES) return HARK_T_OK;
    snprintf(e->head.error, sizeof e->head.error,
        "fabric: libfabric has no provider %s for reliable messages in order%s%s here: %s",
        provider, node ? " at " : "", node ? node : "", l->strerror(-status));
    return HARK_T_ESYSTEM;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_queue(struct end *e)
{
    struct point *o = &e->point;
    struct fi_cq_attr attr = {
        .size = RECEIVES + 4 * MESSAGES, .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
    if (fi_cq_open(o->domain, &attr, &o->cq, NULL) == 0 &&
        fi_control(&o->cq->fid, FI_GETWAIT, &o->fd) == 0)
        return 0;
    o->fd = -1;
    if (o->cq) (void)fi_close(&o->cq->fid);
    o->cq = NULL;
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(o->domain, &attr, &o->cq, NULL);
}

/* Returns what can not be opened, or NULL. */
static const char *open_all(struct end *e, int *status)
{
    struct point *o = &e->point;
    struct fi_av_attr attr = {.type = FI_AV_UNSPEC, .count = e->ranks < 1024 ? e->ranks + 1 : 1024};
    *status = library()->fabric(o->info->fabric_attr, &o->fabric, NULL);
    if (*status) return "a fabric";
    *status = fi_domain(o->fabric, o->info, &o->domain, NULL);
    if (*status) return "a domain";
    *status = open_queue(e);
    if (*status) return "a queue";
    *status = fi_av_open(o->domain, &attr, &o->av, NULL);
    if (*status) return "a table of addresses";
    *status = fi_endpoint(o->domain, o->info, &o->ep, NULL);
    if (*status) return "an endpoint";
    *status = fi_ep_bind(o->ep, &o->cq->fid, FI_TRANSMIT | FI_RECV);
    if (*status == 0) *status = fi_ep_bind(o->ep, &o->av->fid, 0);
    if (*status == 0) *status = fi_enable(o->ep);
    return *status ? "an endpoint" : NULL;
}

int hark_fabric_register(struct end *e, void *at, size_t bytes, struct fid_mr **mr)
{
    static uint64_t key;
    struct point *o = &e->point;
    const int mode = o->info->domain_attr->mr_mode;
    *mr = NULL;
    if (!(mode & FI_MR_LOCAL)) return HARK_T_OK;
    int status = fi_mr_reg(o->domain, at, bytes, FI_SEND | FI_RECV, 0,
        __atomic_add_fetch(&key, 1, __ATOMIC_RELAXED), 0, mr, NULL);
    if (status == 0 && mode & FI_MR_ENDPOINT) {
        status = fi_mr_bind(*mr, &o->ep->fid, 0);
        if (status == 0) status = fi_mr_enable(*mr);
    }
    return status == 0 ? HARK_T_OK : hark_fabric_failed(e, "cannot register memory", status);
}

static int learn_name(struct end *e)
{
    size_t length = sizeof e->name;
    const int status = fi_getname(&e->point.ep->fid, e->name, &length);
    if (status != 0) return hark_fabric_failed(e, "cannot name an endpoint", status);
    e->name_length = length;
    const char *provider = e->point.info->fabric_attr->prov_name;
    int at = snprintf(e->address, sizeof e->address, "fabric:%.40s:", provider);
    for (size_t i = 0; i < length; i++)
        at += snprintf(e->address + at, sizeof e->address - (size_t)at, "%02x", e->name[i]);
    return HARK_T_OK;
}

void hark_fabric_point_text(const struct end *e, const uint8_t *name, size_t length, char text[200])
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    char host[INET6_ADDRSTRLEN] = "its address";
    unsigned port = 0;
    if (e->point.info->addr_format == FI_SOCKADDR_IN && length == sizeof four) {
        memcpy(&four, name, length);
        inet_ntop(AF_INET, &four.sin_addr, host, sizeof host);
        port = ntohs(four.sin_port);
    } else if (e->point.info->addr_format == FI_SOCKADDR_IN6 && length == sizeof six) {
        memcpy(&six, name, length);
        inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof host);
        port = ntohs(six.sin6_port);
    }
    const char *provider = e->point.info->fabric_attr->prov_name;
    if (port) snprintf(text, 200, "%.40s %s port %u: no connection", provider, host, port);
    else snprintf(text, 200, "%.40s: no connection", provider);
}

static int make_buffers(struct end *e)
{
    struct point *o = &e->point;
    const size_t bytes = RECEIVES * MESSAGE_BYTES;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return hark_fabric_failed(e, "cannot make buffers", FI_ENOMEM);
    o->buffers = at;
    const int status = hark_fabric_register(e, at, bytes, &o->mr);
    if (status != HARK_T_OK) return status;
    for (uint32_t i = 0; i < RECEIVES; i++) o->idle[i] = i;
    o->idle_count = RECEIVES;
    hark_fabric_point_post(e);
    return HARK_T_OK;
}

int hark_fabric_point_open(struct end *e, const char *provider, const char *node)
{
    int status = choose(e, provider, node), why = 0;
    e->point.fd = -1;
    if (status != HARK_T_OK) return status;
    const char *what = open_all(e, &why);
    if (what) {
        snprintf(e->head.error, sizeof e->head.error,
            "fabric: cannot open %s of provider %s%s%.60s: %s", what, provider, node ? " at " : "",
            node ? node : "", library()->strerror(-why));
        return HARK_T_ESYSTEM;
    }
    status = learn_name(e);
    return status == HARK_T_OK ? make_buffers(e) : status;
}

static void close_one(struct fid *fid)
{
    (void)fi_close(fid);
}

void hark_fabric_point_close(struct end *e)
{
    struct point *o = &e->point;
    if (o->ep) close_one(&o->ep->fid);
    if (o->mr) close_one(&o->mr->fid);
    if (o->av) close_one(&o->av->fid);
    if (o->cq) close_one(&o->cq->fid);
    if (o->domain) close_one(&o->domain->fid);
    if (o->fabric) close_one(&o->fabric->fid);
    if (o->info) library()->freeinfo(o->info);
    if (o->buffers) munmap(o->buffers, RECEIVES * MESSAGE_BYTES);
}

void hark_fabric_point_post(struct end *e)
{
    struct point *o = &e->point;
    while (o->idle_count > 0) {
        const uint32_t i = o->idle[o->idle_count - 1];
        const ssize_t status = fi_recv(o->ep, o->buffers + i * MESSAGE_BYTES, MESSAGE_BYTES,
            o->mr ? fi_mr_desc(o->mr) : NULL, FI_ADDR_UNSPEC, &o->receive[i].context);
        if (status == 0) {
            o->idle_count--;
            continue;
        }
        if (status != -FI_EAGAIN) e->trouble = hark_fabric_failed(e, "cannot receive", (int)status);
        return;
    }
}
