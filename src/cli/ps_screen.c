/* ps_screen.c: `hark ps` on a terminal: shows it again each second. */
#include "ps_parts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "../utf8.h"

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

struct screen {
    bool keys; /* standard input is a terminal, and its keys come one by one */
    struct termios before;
    sigset_t mask; /* while it waits: signals come only then */
};

static void take_keys(struct screen *s)
{
    struct termios now;
    if (!s->keys || tcgetattr(STDIN_FILENO, &now) < 0) return;
    now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &now); /* each time: a shell may have changed it */
}

static void begin(struct screen *s)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = on_signal};
    sigset_t wanted;
    sigemptyset(&wanted);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaddset(&wanted, numbers[i]);
        sigaction(numbers[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &wanted, &s->mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) sigdelset(&s->mask, numbers[i]);
    s->keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &s->before) == 0;
}

static void end(const struct screen *s)
{
    if (s->keys) (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &s->before);
}

/* Bytes of a line that the terminal has room for. */
static size_t fitting(const char *line, size_t length, unsigned columns)
{
    size_t at = 0;
    uint32_t code;
    for (unsigned width = 0; at < length && width < columns; width++) {
        const size_t n = hark_utf8(line + at, length - at, &code);
        at += n ? n : 1;
    }
    return at;
}

/* From the upper left corner on, as much as there is room for; nothing of before is left. */
static void draw(const char *text)
{
    struct winsize size = {0};
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    const unsigned rows = size.ws_row > 2 ? size.ws_row : 24,
                   columns = size.ws_col ? size.ws_col : 80;
    unsigned lines = 0, shown = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    fputs("\033[H", stdout);
    for (const char *line = text; *line; shown++) {
        const size_t length = strcspn(line, "\n");
        if (shown + 2 >= rows && lines > rows - 1) break;
        printf("%.*s\033[K\n", (int)fitting(line, length, columns), line);
        line += length + (line[length] == '\n');
    }
    if (shown < lines) printf("%u lines more: see --once\033[K\n", lines - shown);
    fputs("\033[J", stdout);
    fflush(stdout);
}

/* False: it is to end. */
static bool wait_a_second(const struct screen *s)
{
    const struct timespec second = {1, 0};
    struct pollfd key = {.fd = s->keys ? STDIN_FILENO : -1, .events = POLLIN};
    char letter = 0;
    const int n = ppoll(&key, 1, &second, &s->mask);
    if (caught) return false;
    if (n > 0 && read(STDIN_FILENO, &letter, 1) != 1) return false; /* the terminal is gone */
    return letter != 'q' && letter != 'Q';
}

/* False: the job has ended, or there is no memory. */
static bool show(struct ps_job *only)
{
    struct ps_jobs one = {only, 1}, all;
    char *text = NULL;
    size_t length = 0;
    bool goes_on = true;
    FILE *f = open_memstream(&text, &length);
    if (f == NULL) return false;
    if (only) {
        ps_ask(&one, true, NULL);
        goes_on = only->answer != PS_GONE;
        if (only->answer == PS_ANSWERED) ps_show_job(f, only);
        else if (goes_on) {
            fprintf(f, "%s: ", only->name);
            ps_show_why(f, only);
            fputc('\n', f);
        }
    } else if (ps_find(&all)) {
        ps_ask(&all, false, NULL);
        ps_show_jobs(f, &all);
        ps_free(&all);
    }
    if (fclose(f) == 0 && goes_on) draw(text);
    free(text);
    return goes_on && !ferror(stdout);
}

int ps_screen(struct ps_job *only)
{
    struct screen s;
    begin(&s);
    fputs("\033[2J", stdout);
    bool there = true;
    do {
        take_keys(&s);
        there = show(only);
    } while (there && wait_a_second(&s));
    end(&s);
    if (!there && only) printf("job %s has ended\n", only->name);
    return caught == 0 || caught == SIGINT ? 0 : 128 + caught;
}
