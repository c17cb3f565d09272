/* launch.c: agents on other hosts are started, by ssh, srun or what else the launcher is. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 64 /* launchers, until their agents have come up: an ssh takes 10 MiB */

/* ---- what it is to run ----------------------------------------------------------------------- */

static bool names_host(const struct supervisor *s)
{
    for (char *const *word = s->o->launcher; *word; word++)
        if (strstr(*word, "%h")) return true;
    return false;
}

const char *hark_sup_launcher_hint(const struct supervisor *s, char text[160])
{
    const char *name = strrchr(s->o->launcher[0], '/');
    text[0] = 0;
    name = name ? name + 1 : s->o->launcher[0];
    if (!names_host(s) && s->o->hosts > 1 && strcmp(name, "srun") != 0)
        snprintf(text, 160,
            "; a launcher without %%h must start the agents of all %u hosts, as srun does; is %%h "
            "missing?",
            s->o->hosts);
    return text;
}

/* `word` with the host's name for each %h. To be freed; NULL: no memory. */
static char *with_name(const char *word, const char *name)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    if (f == NULL) return NULL;
    for (const char *at = word; *at; at++) {
        if (at[0] == '%' && at[1] == 'h') fputs(name, f), at++;
        else fputc(*at, f);
    }
    if (fclose(f) == 0) return text;
    free(text);
    return NULL;
}

/* Its words, then those of the agent: NULL behind the last. To be freed by free_words(). */
static char **words_of(const struct supervisor *s, const char *name)
{
    char own[PATH_MAX];
    size_t count = 0;
    const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    while (s->o->launcher[count]) count++;
    char **word = calloc(count + 3, sizeof *word);
    if (word == NULL || n < 0) {
        free(word);
        return NULL;
    }
    own[n] = 0;
    for (size_t i = 0; i < count; i++) word[i] = with_name(s->o->launcher[i], name);
    word[count] = strdup(own);
    word[count + 1] = strdup("agent");
    return word;
}

static void free_words(char **word)
{
    for (size_t i = 0; word && word[i]; i++) free(word[i]);
    free(word);
}

/* ---- what it writes to the agents' standard input -------------------------------------------- */

static bool is_wanted(const struct supervisor *s, const uv_interface_address_t *a, const char *text)
{
    if (s->o->interface) return !strcmp(s->o->interface, a->name) || !strcmp(s->o->interface, text);
    const bool local = a->address.address4.sin_family == AF_INET6 &&
                       IN6_IS_ADDR_LINKLOCAL(&a->address.address6.sin6_addr);
    return !local; /* that would need an interface of theirs */
}

unsigned hark_sup_addresses(const struct supervisor *s, FILE *f)
{
    const uint16_t port = hark_listener_port(s->listener);
    uv_interface_address_t *all;
    unsigned put = 0;
    int count;
    if (uv_interface_addresses(&all, &count) != 0) return 0;
    for (int internal = 0; internal < 2; internal++)
        for (int i = 0; i < count; i++) {
            char text[INET6_ADDRSTRLEN] = "";
            const bool six = all[i].address.address4.sin_family == AF_INET6;
            if (six) uv_ip6_name(&all[i].address.address6, text, sizeof text);
            else uv_ip4_name(&all[i].address.address4, text, sizeof text);
            if ((all[i].is_internal != 0) != internal || !is_wanted(s, &all[i], text)) continue;
            fprintf(f, six ? "supervisor [%s]:%u\n" : "supervisor %s:%u\n", text, port);
            put++;
        }
    uv_free_interface_addresses(all, count);
    return put;
}

/* To be freed; NULL after a line. */
static char *lines_for(struct supervisor *s, const char *name)
{
    char key[2 * HARK_CONNECTION_KEY + 1], *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    if (f == NULL) {
        hark_sup_say("no memory for a host");
        return NULL;
    }
    sodium_bin2hex(key, sizeof key, s->agent_key, sizeof s->agent_key);
    fprintf(f, "hark agent %u\nkey %s\n", HARK_AGENT_VERSION, key);
    fprintf(f, "silent %u\n", (unsigned)s->o->host_timeout_ms);
    if (name) fprintf(f, "host %s\n", name);
    const unsigned put = hark_sup_addresses(s, f);
    fputs("end\n", f);
    sodium_memzero(key, sizeof key);
    if (fclose(f) == 0 && put) return text;
    free(text);
    hark_sup_say(
        s->o->interface ? "--interface: expected a name or address of an interface of this "
                          "host, found \"%s\""
                        : "this host has no network address%s",
        s->o->interface ? s->o->interface : "");
    if (s->o->interface) hark_sup_end(s, 2);
    return NULL;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Comes back if it fails, with errno. Its output is our stderr: what it says is of its troubles. */
static void be_launcher(
    const struct supervisor *s, char *const *word, int in, bool quiet, pid_t parent)
{
    sigset_t none;
    (void)setpgid(0, 0);
    /* srun has a child that ends the agents when srun dies and it does not. If another run may take
     * them over, both die at once, by our janitor. */
    if (!hark_sup_takeover_allowed(s)) prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (int n = 1; n < NSIG; n++)
        if (!hark_sup_signal_ignored(s, n)) signal(n, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    const int null = quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (null >= 0) (void)dup2(null, 2);
    if (dup2(in, 0) < 0 || dup2(2, 1) < 0) return;
    execvp(word[0], word);
}

static bool write_lines(int fd, const char *text)
{
    for (size_t done = 0, all = strlen(text); done < all;) {
        ssize_t n = write(fd, text + done, all - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        done += (size_t)n;
    }
    return true;
}

/* The lines fit into the pipe. Its pid, or 0 after a line. */
static pid_t launch(struct supervisor *s, const char *name, bool quiet)
{
    char *text = lines_for(s, name), **word = words_of(s, name ? name : "");
    int to[2] = {-1, -1};
    pid_t parent = getpid(), pid = -1;
    sigset_t all, before;
    if (text && word && pipe2(to, O_CLOEXEC) == 0) {
        sigfillset(&all); /* our handlers must not run in the new process */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pid = fork();
        if (pid != 0) pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (pid == 0) {
            be_launcher(s, word, to[0], quiet, parent);
            dprintf(2, "hark run: cannot start the launcher %s: %s\n", word[0], strerror(errno));
            _exit(127);
        }
    }
    if (pid > 0) {
        hark_janitor_born(&s->janitor, pid);
        (void)write_lines(to[1], text); /* else it has ended, which is seen */
    } else if (text) {
        hark_sup_say("cannot start a launcher: %s", strerror(errno));
    }
    for (int i = 0; i < 2; i++)
        if (to[i] >= 0) close(to[i]);
    if (text) sodium_memzero(text, strlen(text));
    free(text);
    free_words(word);
    return pid > 0 ? pid : 0;
}

bool hark_sup_launch(struct supervisor *s)
{
    if (!names_host(s)) {
        if (s->launched == 0) s->launcher = launch(s, NULL, false);
        s->launched = s->o->hosts;
        return s->launcher != 0;
    }
    while (s->launched < s->o->hosts && s->launched - s->came_up < AT_ONCE) {
        struct host *h = &s->host[s->launched++];
        if ((h->launcher = launch(s, h->name, false)) == 0) return false;
    }
    return true;
}

/* False: it lives. */
static bool ended(struct supervisor *s, pid_t *pid, int *status)
{
    if (*pid == 0 || waitpid(*pid, status, WNOHANG) != *pid) return false;
    hark_janitor_dead(&s->janitor, *pid);
    *pid = 0;
    return true;
}

static void say_failed(const struct supervisor *s, const char *host, int status)
{
    const char *launcher = s->o->launcher[0];
    char hint[160];
    (void)hark_sup_launcher_hint(s, hint);
    if (WIFEXITED(status))
        hark_sup_say("%s: the launcher (%s) ended with status %d before its agent had come up%s",
            host, launcher, WEXITSTATUS(status), hint);
    else
        hark_sup_say("%s: the launcher (%s) was ended by signal %d before its agent had come up%s",
            host, launcher, WTERMSIG(status), hint);
}

void hark_sup_launchers_reap(struct supervisor *s)
{
    char name[HARK_HOST_NAME + 8];
    int status;
    bool missing = false;
    s->launchers_due = false;
    for (uint32_t i = 0; s->host && i < s->o->hosts; i++) {
        struct host *h = &s->host[i];
        missing |= !h->was_ready;
        if (!ended(s, &h->launcher, &status) || status == 0 || h->was_ready || s->phase != RUNNING)
            continue; /* with 0 it may have left its agent in the background */
        snprintf(name, sizeof name, "host %s", h->name);
        say_failed(s, name, status);
        hark_sup_end(s, 2);
    }
    if (ended(s, &s->launcher, &status) && status && missing && s->phase == RUNNING) {
        say_failed(s, "all hosts", status);
        hark_sup_end(s, 2);
    }
}

static void end_one(struct supervisor *s, pid_t *pid)
{
    if (*pid == 0) return;
    (void)kill(-*pid, SIGKILL);
    (void)kill(*pid, SIGKILL);
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR) {
    }
    hark_janitor_dead(&s->janitor, *pid);
    *pid = 0;
}

/* What it says is of hosts that are down, which is known. */
void hark_sup_launch_again(struct host *h)
{
    struct supervisor *s = h->s;
    end_one(s, &h->launcher); /* of its former agent */
    if (names_host(s)) h->launcher = launch(s, h->name, true);
}

void hark_sup_launchers_end(struct supervisor *s)
{
    for (uint32_t i = 0; s->host && i < s->o->hosts; i++) end_one(s, &s->host[i].launcher);
    end_one(s, &s->launcher);
}
