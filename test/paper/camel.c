/* CAMEL, claim by claim: the tree of Figure 3(b) in numbers, beside the same tree under plain
 * causal message logging; and who gives what to whom when one of it dies.
 *
 * Figure 3(b): R to S and T, S to U and V, T to W and X, X to Y and Z.
 */
#include "job.h"

enum { R, S, T, U, V, W, X, Y, Z, N, CAST = 1, UP = 2 };

static const uint32_t member[N] = {R, S, T, U, V, W, X, Y, Z},
                      figure[N] = {R, R, R, S, S, T, T, X, X};

/* A job on a tree in which who is nearer to the root has a lower rank; parent[R] is R. */
static struct job *begin(const char *protocol, const uint32_t *parent, uint32_t n)
{
    static struct hark_group tree[2]; /* a restart reads it again */
    struct job *j = job_new(protocol, n);
    tree[0] =
        (struct hark_group){.ctx = CAST, .root = R, .member = member, .parent = parent, .count = n};
    tree[1] = tree[0];
    tree[1].ctx = UP;
    tree[1].reduces = 1;
    for (uint32_t i = 0; i < n; i++) {
        j->config[i].groups = tree;
        j->config[i].group_count = 2;
        core_make(j, i);
    }
    return j;
}

static bool camel(const struct job *j)
{
    return j->protocol == hark_protocol_named("camel");
}

static uint32_t parent_of(const struct job *j, uint32_t who)
{
    return j->config[who].groups->parent[who];
}

static bool is_child(const struct job *j, uint32_t who, uint32_t of)
{
    return who != R && parent_of(j, who) == of;
}

static uint32_t children(const struct job *j, uint32_t of)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->ranks; i++) n += is_child(j, i, of);
    return n;
}

static void cut_below(struct job *j, uint32_t who, bool cut)
{
    for (uint32_t i = 0; i < j->ranks; i++)
        if (is_child(j, i, who)) j->cut[who][i] = cut;
}

/* What is sent, and what is dropped, is counted from here on. */
static void count_anew(struct job *j)
{
    memset(j->sent, 0, sizeof j->sent);
    memset(j->discarded, 0, sizeof j->discarded);
    j->recovered = 0;
}

/* Payloads that anybody sent, in all. */
static uint32_t sent(const struct job *j)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->ranks; i++)
        for (uint32_t k = 0; k < j->ranks; k++) n += j->sent[i][k];
    return n;
}

/* ---- what is kept, and what travels ---------------------------------------------------------- */

/* Of a payload log: what was sent; what others contributed and waits; what all children of the root
 * contributed to it. */
enum { SENT, WAITS, ALL };

static uint32_t logged(const struct job *j, uint32_t who, int what)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->logs[who]; i++) {
        const struct hark_name *name = &j->log[who][i].name;
        n += what == (name->way == HARK_OUT ? SENT : name->to == HARK_PROCESS ? WAITS : ALL);
    }
    return n;
}

struct figures {
    uint32_t keepers, copies; /* processes that log it; entries of their logs */
    uint32_t determinants;    /* that deliveries made */
    uint32_t edges, along;    /* who sent determinants to whom along with a payload; how many */
    uint32_t held;            /* determinants of others that are stored */
};

static struct figures figures(struct job *j)
{
    struct figures f = {.keepers = 0};
    for (uint32_t i = 0; i < j->ranks; i++) {
        f.keepers += j->logs[i] != 0;
        f.copies += j->logs[i];
        f.determinants += at(j, i)->own.rows.count;
        for (uint32_t k = 0; k < j->ranks; k++) {
            const struct hark_scmel_log *log = hark_scmel_log(at(j, i), k, false);
            f.held += log ? log->dets.rows.count : 0;
            f.edges += j->carried[i][k] != 0;
            f.along += j->carried[i][k];
        }
    }
    return f;
}

/* The core names for an image what the effects had logged, and besides only what has been handed
 * up. */
static void check_logs(const struct job *j)
{
    for (uint32_t i = 0; i < j->ranks; i++) {
        uint64_t cursor = 0, named = 0;
        struct hark_names run;
        while (j->protocol->names(j->core[i], &cursor, &run)) named += run.last - run.name.ssn + 1;
        assert_int_equal(named, j->logs[i] + j->inboxes[i]);
    }
}

static void check_log(struct job *j, uint32_t who, const char *text)
{
    assert_int_equal(j->logs[who], text ? 1 : 0);
    if (text) assert_string_equal(j->log[who][0].text, text);
}

/* ---- multicasts ------------------------------------------------------------------------------ */

/* Down the tree: by its root alone, or by messages that each passes on when it has taken its own.
 */
static void multicast(struct job *j, const char *text)
{
    if (camel(j)) send_group(j, R, CAST, text);
    for (uint32_t i = R; i < j->ranks; i++) {
        settle(j, 0);
        if (i != R) assert_string_equal(take(j, i, camel(j) ? R : parent_of(j, i)), text);
        for (uint32_t c = 0; c < j->ranks && !camel(j); c++)
            if (is_child(j, c, i)) send_text(j, i, c, text);
    }
    settle(j, 0);
}

/* One multicast. The first `took` of the ranks have taken something before, so that they have a
 * determinant: a message to themselves, which nobody logs. */
static struct figures multicast_figures(
    const char *protocol, const uint32_t *parent, uint32_t n, uint32_t took)
{
    struct job *j = begin(protocol, parent, n);
    for (uint32_t i = R; i < took; i++) {
        send_to(j, i, i);
        settle(j, 0);
        take(j, i, i);
    }
    multicast(j, "m");
    check_logs(j);
    struct figures f = figures(j);
    f.determinants -= took;
    job_free(j);
    return f;
}

/* "For example, a multicast on the spanning tree of Figure 3(b) would require the same message to
 * be stored 4 times (at processes R, S, T, and X)": under SCMEL they are 4 processes, but 8
 * entries, for our names are of messages (l. 7 stores each of them), and whoever has two children
 * sends two. "A goal of CAMEL [...] is to use a spanning tree and store a multicast message only
 * once." */
static void test_multicast_copies(void **state)
{
    struct figures plain = multicast_figures("scmel", figure, N, 1),
                   collective = multicast_figures("camel", figure, N, 1);
    (void)state;
    assert_int_equal(plain.keepers, 4);
    assert_int_equal(plain.copies, 8);
    assert_int_equal(collective.keepers, 1);
    assert_int_equal(collective.copies, 1);
}

/* Algorithm 2 l. 13-14: every member's delivery makes its determinant, as under Algorithm 1. "...
 * piggybacked determinants are removed from the original multicast messages before being
 * forwarded", and no others put on (C-6): along the 2 edges below the root goes the root's, while
 * of 8 messages each takes its sender's along. k = 1 asks for no more than these two copies (C-5).
 */
static void test_multicast_determinants(void **state)
{
    struct figures plain = multicast_figures("scmel", figure, N, 1),
                   collective = multicast_figures("camel", figure, N, 1);
    (void)state;
    assert_int_equal(plain.determinants, 8);
    assert_int_equal(plain.edges, 8);
    assert_int_equal(plain.along, 8);
    assert_int_equal(plain.held, 8);
    assert_int_equal(collective.determinants, 8);
    assert_int_equal(collective.edges, 2);
    assert_int_equal(collective.along, 2);
    assert_int_equal(collective.held, 2);
    assert_int_equal(multicast_figures("camel", figure, N, N).along, 2);
    assert_int_equal(multicast_figures("scmel", figure, N, N).along, 2 + 2 * 6);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* A member's share is its letter. The root gets its own, then the agglomerates of its children. */
static void contribute(struct job *j, uint32_t who)
{
    const char letter[2] = {"RSTUVWXYZ"[who], 0};
    send_group(j, who, UP, letter);
}

/* All but the root contribute: up the tree, or by messages that wait for those from below. */
static void reduce_but_root(struct job *j)
{
    for (uint32_t i = j->ranks; i-- > R;) {
        settle(j, 0);
        for (uint32_t c = 0; c < j->ranks && !camel(j); c++)
            if (is_child(j, c, i)) take(j, i, c);
        if (i == R) return;
        if (camel(j)) contribute(j, i);
        else send_to(j, i, parent_of(j, i));
    }
}

/* What `from` sends to `to` stays on its way; R to R is never cut: all arrives. */
static struct job *reduced(uint32_t from, uint32_t to)
{
    struct job *j = begin("camel", figure, N);
    j->cut[from][to] = from != to;
    reduce_but_root(j);
    contribute(j, R);
    settle(j, 0);
    assert_string_equal(take(j, R, R), "RSUVTWXYZ");
    return j;
}

/* "Similarly, a reduction on the spanning tree of Figure 3(b) using regular message logging would
 * require the storage of 8 messages." And every one that arrives has its determinant. */
static void test_reduction_plain(void **state)
{
    struct job *j = begin("scmel", figure, N);
    (void)state;
    reduce_but_root(j);
    struct figures f = figures(j);
    assert_int_equal(f.copies, 8);
    assert_int_equal(f.keepers, 8); /* not the root */
    assert_int_equal(f.determinants, 8);
    check_logs(j);
    job_free(j);
}

/* "... we will require all processes to temporarily store reduction messages until an
 * acknowledgment confirms that a particular reduction has been finished": 8 while the root has not
 * contributed yet. (Besides it has in its log, until its own share is there, what has come to it:
 * the agglomerates of S and T.) */
static void test_reduction_running(void **state)
{
    struct job *j = begin("camel", figure, N);
    (void)state;
    reduce_but_root(j);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(logged(j, i, SENT), i != R);
        assert_int_equal(logged(j, i, WAITS), i == R ? 2 : 0);
        assert_int_equal(logged(j, i, ALL), 0);
    }
    assert_int_equal(sent(j), 8);
    assert_int_equal(figures(j).determinants, 0);
    check_logs(j);
    job_free(j);
}

/* "However, once the reduction is finished, only 2 messages are necessary to store (the ones
 * reaching the root of the spanning tree)": those of S and T. But one of these is lost with S or T
 * (C-12). Here are 2 as well: what both came to, at R and at S.
 *
 * Of determinants there is 1, not 2. Algorithm 2 l. 31-34 makes one for each message that reaches
 * the root, but says section 6: "If functions ACCUMULATE and AGGLOMERATE are deterministic, then
 * determinant generation can be removed from the root node". They are: parts go in the order of the
 * tree whenever they come (C-15), so that their arrivals need none. The one is for what the paper
 * leaves out: when the root takes the result, among all that it may take. */
static void test_reduction_finished(void **state)
{
    struct job *j = reduced(R, R);
    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(logged(j, i, SENT), 0);
        assert_int_equal(logged(j, i, WAITS), 0);
        assert_int_equal(logged(j, i, ALL), i == R || i == S);
    }
    check_log(j, R, "SUVTWXYZ");
    check_log(j, S, "SUVTWXYZ");
    struct figures f = figures(j);
    assert_int_equal(f.determinants, 1);
    assert_int_equal(at(j, R)->own.rows.count, 1);
    assert_int_equal(f.along, 0);
    check_logs(j);
    job_free(j);
}

/* C-15: the order in which contributions are made and arrive is not that in which they are
 * combined. */
static void test_reduction_order(void **state)
{
    (void)state;
    for (int order = -1; order <= 0; order++)
        for (uint32_t first = 0; first < N; first++) {
            struct job *j = begin("camel", figure, N);
            for (uint32_t i = 0; i < N; i++) contribute(j, (first + i) % N);
            settle(j, order);
            assert_string_equal(take(j, R, R), "RSUVTWXYZ");
            assert_int_equal(figures(j).determinants, 1);
            job_free(j);
        }
}

/* ---- other trees ----------------------------------------------------------------------------- */

static void check_tree(const uint32_t *parent, uint32_t n)
{
    struct job *j = begin("camel", parent, n);
    uint32_t below = children(j, R), inner = 0, own = 0, all = 0;
    for (uint32_t i = 0; i < n; i++) inner += children(j, i) != 0;
    reduce_but_root(j);
    assert_int_equal(sent(j), n - 1);
    for (uint32_t i = 0; i < n; i++) own += logged(j, i, SENT);
    assert_int_equal(own, n - 1);
    contribute(j, R);
    settle(j, 0);
    assert_int_equal(strlen(take(j, R, R)), n);
    for (uint32_t i = own = 0; i < n; i++) {
        own += logged(j, i, SENT);
        all += logged(j, i, ALL);
    }
    assert_int_equal(own, 0);
    assert_int_equal(all, 2);
    job_free(j);
    struct figures plain = multicast_figures("scmel", parent, n, 1),
                   collective = multicast_figures("camel", parent, n, 1);
    assert_int_equal(plain.keepers, inner);
    assert_int_equal(plain.edges, n - 1);
    assert_int_equal(collective.copies, 1);
    assert_int_equal(collective.edges, below);
    assert_int_equal(collective.determinants, n - 1);
}

/* "CAMEL aims to provide a mechanism that only stores the contributing messages reaching the root
 * in a reduction", and one copy of a multicast: on any tree. Without it there are as many as
 * members that have children, and of a reduction one of each but the root. Of those reaching the
 * root there are two copies together, however many children it has. */
static void test_other_trees(void **state)
{
    uint32_t parent[N];
    (void)state;
    for (uint32_t n = 2; n <= N; n++) {
        assert_int_equal(hark_tree_binomial(member, n, R, parent), HARK_OK);
        check_tree(parent, n);
        for (uint32_t k = 1; k < n; k++) {
            assert_int_equal(hark_tree_kary(member, n, R, k, parent), HARK_OK);
            check_tree(parent, n);
        }
    }
}

/* ---- failures in a multicast ----------------------------------------------------------------- */

static void take_all(struct job *j, const char *but, const char *text)
{
    for (uint32_t i = S; i < N; i++)
        if (!strchr(but, "RSTUVWXYZ"[i])) assert_string_equal(take(j, i, R), text);
}

/* Recovery is over everywhere, perhaps with what has just been taken, and nobody has a second copy
 * of anything. */
static void check_quiet(struct job *j)
{
    settle(j, 0);
    assert_int_equal(j->recovered, j->ranks);
    for (uint32_t i = 0; i < j->ranks; i++) {
        assert_int_equal(at(j, i)->mode, HARK_SCMEL_NORMAL);
        assert_int_equal(j->inboxes[i], 0);
        assert_int_equal(j->helds[i], 0);
    }
    assert_int_equal(j->wires, 0);
    check_logs(j);
}

/* "Imagine a case in Figure 3(b) where a multicast message from R has reached all processes but Y
 * and Z. Now, if process W fails, it will not be able to receive the multicast message from T
 * [...]. The original sender of the multicast message, R, will be the only one retaining a copy of
 * the message and it will provide it directly to W." As printed l. 39 finds nothing for W (C-1).
 * `had`: W has taken it before, or its copy is lost with it. */
static void test_leaf_fails(void **state)
{
    (void)state;
    for (int had = 0; had < 2; had++)
        for (int order = -1; order <= 0; order++) {
            struct job *j = begin("camel", figure, N);
            cut_below(j, X, true);
            j->cut[T][W] = !had;
            send_group(j, R, CAST, "m");
            settle(j, 0);
            take_all(j, had ? "YZ" : "WYZ", "m");
            crash(j, W);
            count_anew(j);
            j->cut[T][W] = false;
            settle(j, order);
            assert_int_equal(j->sent[R][W], 1);
            assert_int_equal(sent(j), 1); /* T has nothing for it */
            cut_below(j, X, false);
            settle(j, order);
            take_all(j, "STUVX", "m");
            check_quiet(j);
            job_free(j);
        }
}

/* "If it is process X the one failing, then the question is how processes Y and Z will receive the
 * multicast message. Once again, during recovery, process R will send the message to X, and X will
 * forward the message to Y and Z": who has had it drops it. `had`: 1 Y, 2 Z; the other's copy is
 * lost with X. R sends them none, also if they lack it: X' has nothing either, so accepts its copy
 * as new, and that is passed on. */
static void test_inner_fails(void **state)
{
    (void)state;
    for (int had = 0; had < 4; had++)
        for (int order = -1; order <= 0; order++) {
            struct job *j = begin("camel", figure, N);
            j->cut[X][Y] = !(had & 1);
            j->cut[X][Z] = !(had & 2);
            send_group(j, R, CAST, "m");
            settle(j, 0);
            take_all(j, "YZ", "m");
            lose(j, X);
            crash(j, X);
            count_anew(j);
            cut_below(j, X, false);
            settle(j, order);
            assert_int_equal(j->sent[R][X], 1);
            assert_int_equal(j->sent[X][Y], 1);
            assert_int_equal(j->sent[X][Z], 1);
            assert_int_equal(sent(j), 3);
            assert_int_equal(j->discarded[Y], had & 1);
            assert_int_equal(j->discarded[Z], had >> 1);
            take_all(j, "STUVW", "m");
            check_quiet(j);
            job_free(j);
        }
}

/* And when Y fails before what X' passes on has come: nobody will pass it on again. It reports that
 * it has none, and R sends that to it directly, as to any member that reports fewer than there are
 * (C-4). */
static void test_inner_then_leaf_fail(void **state)
{
    (void)state;
    for (int order = -1; order <= 0; order++) {
        struct job *j = begin("camel", figure, N);
        cut_below(j, X, true);
        send_group(j, R, CAST, "m");
        settle(j, 0);
        take_all(j, "XYZ", "m");
        lose(j, X);
        crash(j, X);
        j->cut[X][Z] = false;
        settle(j, order);
        assert_int_equal(at(j, X)->recovering, 0);
        count_anew(j);
        crash(j, Y);
        j->cut[X][Y] = false;
        settle(j, order);
        assert_int_equal(j->sent[R][Y], 1);
        assert_int_equal(sent(j), 1);
        take_all(j, "STUVW", "m");
        check_quiet(j);
        job_free(j);
    }
}

/* R has taken a of U and b of V, in this order, and multicasts what it has taken. */
static struct job *ab(void)
{
    struct job *j = begin("camel", figure, N);
    send_text(j, U, R, "a");
    send_text(j, V, R, "b");
    settle(j, 0);
    assert_string_equal(take(j, R, U), "a");
    assert_string_equal(take(j, R, V), "b");
    return j;
}

/* "Multicast operations are thus atomic, once started they must be completed": Y and Z lack it when
 * R fails. Not by their taking of what comes from the old R ("even if it comes from a sender with
 * an old incarnation number"): that is unsafe (C-3). S and T hold the order in which R had heard U
 * and V, so R' multicasts the same again, and sends it directly to those who report fewer than
 * others: Y and Z, whom nobody else would pass it on to (C-4). `late`: what X passed on comes after
 * that, or before. */
static void test_root_fails(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++)
        for (int order = -1; order <= 0; order++) {
            struct job *j = ab();
            cut_below(j, X, true);
            send_group(j, R, CAST, "ab");
            settle(j, 0);
            take_all(j, "YZ", "ab");
            crash(j, R);
            count_anew(j);
            cut_below(j, X, late);
            settle(j, order);
            assert_int_equal(at(j, R)->mode, HARK_SCMEL_REPLAY);
            assert_int_equal(j->inboxes[R], 1); /* a: b has to wait, whichever came first */
            assert_string_equal(take(j, R, U), "a");
            assert_string_equal(take(j, R, V), "b");
            send_group(j, R, CAST, "ab");
            cut_below(j, X, false);
            settle(j, order);
            assert_int_equal(j->sent[R][Y], 1);
            assert_int_equal(j->sent[R][Z], 1);
            assert_int_equal(sent(j), 4); /* and a, b */
            for (uint32_t i = S; i < N; i++) assert_int_equal(j->discarded[i], i == Y || i == Z);
            take_all(j, "STUVWX", "ab");
            check_quiet(j);
            job_free(j);
        }
}

/* The same, but S and T had not had it yet. Nobody depends on it, nobody holds an order: R' may
 * hear V first, and what it multicasts then is another payload under the same number. So the old
 * one must reach no member at all (C-3). */
static void test_root_fails_unseen(void **state)
{
    (void)state;
    for (int order = -1; order <= 0; order++) {
        struct job *j = ab();
        cut_below(j, R, true);
        send_group(j, R, CAST, "ab");
        settle(j, 0);
        crash(j, R);
        count_anew(j);
        cut_below(j, R, false);
        settle(j, order);
        assert_int_equal(j->discarded[S], 1);
        assert_int_equal(j->discarded[T], 1);
        assert_string_equal(take(j, R, V), "b");
        assert_string_equal(take(j, R, U), "a");
        send_group(j, R, CAST, "ba");
        settle(j, order);
        take_all(j, "", "ba");
        assert_int_equal(sent(j), 8 + 2);
        check_quiet(j);
        job_free(j);
    }
}

/* ---- failures in a reduction ----------------------------------------------------------------- */

/* The root has what all its children contributed, and so has the first of them; the others have
 * forgotten theirs. */
static void check_kept(struct job *j)
{
    for (uint32_t i = 0; i < N; i++) check_log(j, i, i == R || i == S ? "SUVTWXYZ" : NULL);
}

/* "Let us assume the contributing messages have arrived at S and T, but not R. If process T fails,
 * then it will not be able to send the final contribution to R unless its children store copies of
 * the contributing messages." `late`: what T had sent still comes, and is old. */
static void test_child_of_root_fails(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++)
        for (int order = -1; order <= 0; order++) {
            struct job *j = begin("camel", figure, N);
            cut_below(j, T, true);
            j->cut[T][R] = true;
            reduce_but_root(j);
            contribute(j, R);
            settle(j, 0);
            assert_int_equal(j->inboxes[R], 0);
            if (!late) lose(j, T);
            crash(j, T);
            count_anew(j);
            cut_below(j, T, false);
            j->cut[T][R] = false;
            settle(j, order);
            assert_int_equal(j->sent[W][T], 1);
            assert_int_equal(j->sent[X][T], 1);
            assert_int_equal(sent(j), 2);
            contribute(j, T);
            settle(j, order);
            assert_int_equal(j->sent[T][R], 1);
            assert_int_equal(j->discarded[R], late);
            assert_string_equal(take(j, R, R), "RSUVTWXYZ");
            check_kept(j);
            check_quiet(j);
            job_free(j);
        }
}

/* "If instead of failing T, it is X that fails, the same mechanism will ensure the children of X
 * send the messages again. Upon reception, X will send the contribution to T. This message is a
 * duplicate and can easily be discarded". Then the acknowledgement of the root goes through X'.
 * `ahead`: T has used up what X contributed, or waits for its own share. */
static void test_inner_fails_behind(void **state)
{
    (void)state;
    for (int ahead = 0; ahead < 2; ahead++)
        for (int order = -1; order <= 0; order++) {
            struct job *j = begin("camel", figure, N);
            for (uint32_t i = S; i < N; i++)
                if (i != T || ahead) contribute(j, i);
            settle(j, 0);
            assert_int_equal(logged(j, T, WAITS), ahead ? 0 : 2);
            crash(j, X);
            count_anew(j);
            settle(j, order);
            assert_int_equal(j->sent[Y][X], 1);
            assert_int_equal(j->sent[Z][X], 1);
            assert_int_equal(sent(j), 2);
            contribute(j, X);
            settle(j, order);
            check_log(j, X, "XYZ");
            assert_int_equal(j->sent[X][T], 1);
            assert_int_equal(j->discarded[T], 1);
            assert_int_equal(logged(j, T, WAITS), ahead ? 0 : 2);
            if (!ahead) contribute(j, T);
            contribute(j, R);
            settle(j, order);
            assert_string_equal(take(j, R, R), "RSUVTWXYZ");
            check_kept(j);
            check_quiet(j);
            job_free(j);
        }
}

/* "... to recover any process, the root of every group will provide a reduction number that will
 * determine which reduction messages are old and should be discarded": the acknowledgement is lost
 * with X, and Y and Z would never hear of it. X' is told the number by its parent (v16), passes it
 * on, and what it contributes again goes nowhere (C-10). */
static void test_acknowledgement_lost(void **state)
{
    (void)state;
    for (int order = -1; order <= 0; order++) {
        struct job *j = reduced(T, X);
        check_log(j, W, NULL);
        check_log(j, X, "XYZ");
        check_log(j, Y, "Y");
        check_log(j, Z, "Z");
        crash(j, X);
        count_anew(j);
        j->cut[T][X] = false;
        settle(j, order);
        check_kept(j);
        contribute(j, X);
        settle(j, order);
        assert_int_equal(sent(j), 0);
        check_kept(j);
        check_quiet(j);
        job_free(j);
    }
}

/* "The reduction messages from S and T to R must be kept all the time as they are necessary to
 * recover R." They are, though not where they were sent: S has both (C-14: `lost` 0). Who fails of
 * S (1) and T (2) can not make its own again from what its children have forgotten. T need not: it
 * is told that it is complete. S is given by the root what all contributed before it goes on, and
 * R' takes it from there, once (C-12). So it needs nobody else. Afterwards all is as it was. */
static void test_sequential_failures(void **state)
{
    (void)state;
    for (int lost = 0; lost < 4; lost++)
        for (int order = -1; order <= 0; order++) {
            struct job *j = reduced(R, R);
            for (uint32_t i = S; i <= T; i++) {
                if (!(lost >> (i - S) & 1)) continue;
                crash(j, i);
                count_anew(j);
                j->cut[i][R] = true; /* what it asks for */
                settle(j, order);
                check_log(j, i, NULL);
                assert_int_equal(at(j, i)->mode, i == S ? HARK_SCMEL_REPLAY : HARK_SCMEL_NORMAL);
                j->cut[i][R] = false;
                settle(j, order);
                contribute(j, i);
                settle(j, order);
                assert_int_equal(j->sent[R][S], i == S);
                assert_int_equal(sent(j), i == S); /* nobody else had anything, and it does not
                                                      contribute again */
                check_kept(j);
                check_quiet(j);
            }
            crash(j, R);
            count_anew(j);
            settle(j, order);
            assert_int_equal(j->inboxes[R], 0); /* not without its own share */
            contribute(j, R);
            settle(j, order);
            assert_string_equal(take(j, R, R), "RSUVTWXYZ");
            assert_int_equal(j->sent[S][R], 1);
            assert_int_equal(sent(j), 1 + 1); /* and the result */
            check_kept(j);
            check_quiet(j);
            for (uint32_t i = 0; i < N; i++) contribute(j, i);
            settle(j, order);
            assert_string_equal(take(j, R, R), "RSUVTWXYZ");
            check_quiet(j);
            job_free(j);
        }
}

/* R fails before S has what both contributed: all that was sent to it is in the logs still, of T
 * too. */
static void test_root_fails_before_kept(void **state)
{
    (void)state;
    for (int order = -1; order <= 0; order++) {
        struct job *j = reduced(R, S);
        for (uint32_t i = 0; i < N; i++) assert_int_equal(logged(j, i, SENT), i != R);
        lose(j, R);
        crash(j, R);
        count_anew(j);
        j->cut[R][S] = false;
        settle(j, order);
        contribute(j, R);
        settle(j, order);
        assert_string_equal(take(j, R, R), "RSUVTWXYZ");
        assert_int_equal(j->sent[S][R], 1);
        assert_int_equal(j->sent[T][R], 1);
        check_kept(j);
        check_quiet(j);
        job_free(j);
    }
}

/* What R tells T is lost, and then R: S says to R' what it has, and R' tells T. */
static void test_acknowledgement_lost_with_root(void **state)
{
    (void)state;
    for (int order = -1; order <= 0; order++) {
        struct job *j = reduced(R, T);
        check_log(j, S, "SUVTWXYZ");
        check_log(j, T, "TWXYZ");
        lose(j, R);
        crash(j, R);
        j->cut[R][T] = false;
        settle(j, order);
        check_kept(j);
        contribute(j, R);
        settle(j, order);
        assert_string_equal(take(j, R, R), "RSUVTWXYZ");
        check_kept(j);
        check_quiet(j);
        job_free(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_multicast_copies),
        cmocka_unit_test(test_multicast_determinants), cmocka_unit_test(test_reduction_plain),
        cmocka_unit_test(test_reduction_running), cmocka_unit_test(test_reduction_finished),
        cmocka_unit_test(test_reduction_order), cmocka_unit_test(test_other_trees),
        cmocka_unit_test(test_leaf_fails), cmocka_unit_test(test_inner_fails),
        cmocka_unit_test(test_inner_then_leaf_fail), cmocka_unit_test(test_root_fails),
        cmocka_unit_test(test_root_fails_unseen), cmocka_unit_test(test_child_of_root_fails),
        cmocka_unit_test(test_inner_fails_behind), cmocka_unit_test(test_acknowledgement_lost),
        cmocka_unit_test(test_sequential_failures), cmocka_unit_test(test_root_fails_before_kept),
        cmocka_unit_test(test_acknowledgement_lost_with_root)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
