/* wire_same.h - whether two messages say the same, field by field. */
#ifndef TESTS_UNIT_WIRE_SAME_H
#define TESTS_UNIT_WIRE_SAME_H

#include "hashing/identity.h"
#include "proto/message.h"

#include <string.h>

static bool same_set(const struct rankset *a, const struct rankset *b)
{
    return a == NULL || b == NULL ? a == b : rankset_equal(a, b);
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_bytes(const void *a, size_t a_size, const void *b, size_t b_size)
{
    return a_size == b_size && (a_size == 0 || memcmp(a, b, a_size) == 0);
}

static bool same_signatures(const struct message_signatures *a,
                            const struct message_signatures *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++) {
        same = a->items[i].step == b->items[i].step &&
               a->items[i].asks == b->items[i].asks &&
               hash_equal(&a->items[i].hash, &b->items[i].hash);
    }
    return same;
}

static bool same_hashes(const moot_hash *a, size_t a_count, const moot_hash *b,
                        size_t b_count)
{
    return same_bytes(a, a_count * sizeof(*a), b, b_count * sizeof(*b));
}

static bool same_maps(const struct message_spec *a, const struct message_spec *b)
{
    bool same = (a->maps == NULL) == (b->maps == NULL);
    for (size_t i = 0; same && a->maps != NULL && i < a->input_count; i++) {
        const struct message_map *of_a = &a->maps[i], *of_b = &b->maps[i];
        same = same_text(of_a->name, of_b->name) && of_a->version == of_b->version &&
               same_bytes(of_a->args, of_a->args_size, of_b->args, of_b->args_size);
    }
    return same;
}

static bool same_spec(const struct message_spec *a, const struct message_spec *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return same_text(a->kernel_name, b->kernel_name) &&
           a->kernel_version == b->kernel_version && a->flags == b->flags &&
           same_bytes(a->args, a->args_size, b->args, b->args_size) &&
           same_hashes(a->inputs, a->input_count, b->inputs, b->input_count) &&
           a->after_count == b->after_count && (a->key == NULL) == (b->key == NULL) &&
           same_bytes(a->key, a->key_size, b->key, b->key_size) &&
           same_set(a->candidates, b->candidates) && hash_equal(&a->scope, &b->scope) &&
           hash_equal(&a->parent, &b->parent) && a->priority == b->priority &&
           same_text(a->label, b->label) && same_text(a->site, b->site) &&
           a->count == b->count && a->block == b->block && a->spread == b->spread &&
           a->bound == b->bound && same_maps(a, b);
}

static bool same_motion(const struct message_motion *a, const struct message_motion *b)
{
    return a->holds == b->holds && a->hint == b->hint && a->final == b->final &&
           a->want == b->want && a->need == b->need && a->len == b->len &&
           a->priority == b->priority && a->wait == b->wait &&
           hash_equal(&a->scope, &b->scope) && same_set(a->candidates, b->candidates) &&
           same_spec(a->spec, b->spec);
}

static bool same_decision(const struct message_decision *a,
                          const struct message_decision *b)
{
    bool same = a->evidence == b->evidence && a->asker_count == b->asker_count &&
                a->cancelled_by == b->cancelled_by && a->priority == b->priority &&
                a->seen == b->seen && a->alone == b->alone;
    for (size_t i = 0; same && i < a->asker_count; i++) {
        same = a->askers[i].rank == b->askers[i].rank &&
               a->askers[i].want == b->askers[i].want &&
               a->askers[i].need == b->askers[i].need;
    }
    return same;
}

static bool same_result(const struct message_result *a, const struct message_result *b)
{
    return a->owner_uid == b->owner_uid && a->evidence == b->evidence &&
           a->status == b->status && a->data == b->data && a->size == b->size &&
           a->handover == b->handover && a->digest == b->digest && a->at == b->at &&
           a->away == b->away && a->part == b->part && a->parts == b->parts &&
           (a->data != RESULT_EAGER ||
            same_bytes(a->payload, a->size, b->payload, b->size));
}

static bool same_roll(const struct message_roll *a, const struct message_roll *b)
{
    return a->lane == b->lane && a->first == b->first && a->count == b->count &&
           a->partial == b->partial && a->cut == b->cut &&
           rollsum_equal(&a->sum, &b->sum) && a->before == b->before &&
           a->scope == b->scope;
}

static bool same_released(const struct message_released *a,
                          const struct message_released *b)
{
    return a->what == b->what && a->ready == b->ready && a->rests == b->rests &&
           a->swept == b->swept && a->alike == b->alike && a->round == b->round &&
           a->count == b->count && rollsum_equal(&a->sum, &b->sum) &&
           a->sent == b->sent && a->received == b->received;
}

static bool same_hash_list(const struct message_hashes *a,
                           const struct message_hashes *b)
{
    bool same = a->lane == b->lane && a->first == b->first &&
                same_hashes(a->hashes, a->count, b->hashes, b->count) &&
                (a->sites == NULL) == (b->sites == NULL);
    for (uint32_t i = 0; same && a->sites != NULL && i < a->count; i++) {
        same = same_text(a->sites[i], b->sites[i]);
    }
    return same;
}

static bool same_state(const struct message_state *a, const struct message_state *b)
{
    return a->blocked == b->blocked && a->closed == b->closed &&
           a->passive == b->passive && a->waiting == b->waiting &&
           a->lanes == b->lanes && a->len == b->len && a->need == b->need &&
           a->load == b->load && same_text(a->site, b->site);
}

static bool same_orphan(const struct message_orphan *a, const struct message_orphan *b)
{
    return a->standing == b->standing && a->len == b->len && a->asker == b->asker &&
           a->wait == b->wait;
}

static bool same_pollr(const struct message_pollr *a, const struct message_pollr *b)
{
    return a->round == b->round && a->passive == b->passive && a->closed == b->closed &&
           a->resting == b->resting && a->waits == b->waits && a->orphan == b->orphan &&
           a->undecided == b->undecided && a->stuck == b->stuck && a->sent == b->sent &&
           a->received == b->received && same_orphan(&a->least, &b->least) &&
           hash_equal(&a->undecided_hash, &b->undecided_hash) &&
           hash_equal(&a->stuck_hash, &b->stuck_hash) && a->exit_code == b->exit_code;
}

static bool same_diverged(const struct message_diverged *a,
                          const struct message_diverged *b)
{
    bool same =
        a->lane == b->lane && a->position == b->position && a->sides == b->sides;
    for (uint32_t i = 0; same && i < a->sides; i++) {
        same = hash_equal(&a->side[i].hash, &b->side[i].hash) &&
               same_text(a->side[i].site, b->side[i].site) &&
               same_set(a->side[i].ranks, b->side[i].ranks);
    }
    return same;
}

static bool same_view(const struct message_view *a, const struct message_view *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    bool same = a->epoch == b->epoch && same_set(a->members, b->members) &&
                same_set(a->left, b->left) && a->newcomers == b->newcomers &&
                a->history == b->history;
    for (uint32_t i = 0; same && i < a->newcomers; i++) {
        same = a->newcomer[i].rank == b->newcomer[i].rank &&
               a->newcomer[i].host == b->newcomer[i].host &&
               a->newcomer[i].uid == b->newcomer[i].uid &&
               a->newcomer[i].lanes == b->newcomer[i].lanes;
        for (uint32_t lane = 0; same && lane < a->newcomer[i].lanes; lane++) {
            same = a->newcomer[i].places[lane] == b->newcomer[i].places[lane];
        }
    }
    for (uint32_t i = 0; same && i < a->history; i++) {
        same = a->past[i].epoch == b->past[i].epoch &&
               same_set(a->past[i].members, b->past[i].members);
    }
    same = same && a->losses == b->losses && a->losses_cut == b->losses_cut &&
           a->reload.generation == b->reload.generation &&
           a->reload.met == b->reload.met &&
           hash_equal(&a->reload.snapshot, &b->reload.snapshot);
    for (uint32_t i = 0; same && i < a->losses; i++) {
        same = a->loss[i].epoch == b->loss[i].epoch &&
               same_set(a->loss[i].before, b->loss[i].before) &&
               same_set(a->loss[i].after, b->loss[i].after);
    }
    return same;
}

static bool same_paxos(const struct message_paxos *a, const struct message_paxos *b)
{
    return a->ballot == b->ballot && a->accepted == b->accepted &&
           same_set(a->dead, b->dead) && same_set(a->heard, b->heard) &&
           same_view(a->value, b->value);
}

static bool same_report(const struct message_report *a, const struct message_report *b)
{
    bool same = a->last == b->last && a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++) {
        same = hash_equal(&a->entry[i].hash, &b->entry[i].hash) &&
               a->entry[i].what == b->entry[i].what &&
               a->entry[i].owner == b->entry[i].owner &&
               a->entry[i].epoch == b->entry[i].epoch &&
               a->entry[i].has_payload == b->entry[i].has_payload &&
               a->entry[i].evidence == b->entry[i].evidence &&
               a->entry[i].code == b->entry[i].code &&
               a->entry[i].age_ns == b->entry[i].age_ns;
    }
    return same;
}

static bool same_census(const struct message_census *a, const struct message_census *b)
{
    bool same = a->ask == b->ask && a->last == b->last && a->alike == b->alike &&
                a->ranks == b->ranks && a->tasks == b->tasks &&
                rollsum_equal(&a->sum, &b->sum) && a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++) {
        same = hash_equal(&a->entry[i].hash, &b->entry[i].hash) &&
               a->entry[i].witness == b->entry[i].witness &&
               a->entry[i].holders == b->entry[i].holders &&
               a->entry[i].claimed == b->entry[i].claimed;
    }
    return same;
}

static bool same_elements(const struct message_elements *a,
                          const struct message_elements *b)
{
    bool same = a->what == b->what && a->count == b->count && a->block == b->block &&
                a->kind == b->kind && a->homes == b->homes &&
                a->range_count == b->range_count && a->failed == b->failed &&
                a->status == b->status && a->need == b->need && a->quiet == b->quiet &&
                a->tell == b->tell && a->bound == b->bound &&
                same_set(a->ranks, b->ranks) && same_spec(a->spec, b->spec);
    for (uint32_t i = 0; same && i < a->range_count; i++) {
        same = a->ranges[i].first == b->ranges[i].first &&
               a->ranges[i].end == b->ranges[i].end;
    }
    return same;
}

static bool same_parts(const struct message_parts *a, const struct message_parts *b)
{
    bool same = a->input == b->input && a->count == b->count && a->homes == b->homes &&
                a->seek == b->seek && hash_equal(&a->of, &b->of) &&
                a->part_count == b->part_count && a->byte_count == b->byte_count &&
                (a->byte_count == 0 || memcmp(a->bytes, b->bytes, a->byte_count) == 0);
    for (uint32_t i = 0; same && i < a->part_count; i++) {
        same = a->parts[i].place == b->parts[i].place &&
               a->parts[i].size == b->parts[i].size &&
               a->parts[i].state == b->parts[i].state;
    }
    return same;
}

/* The types with one or two plain fields. */
static bool same_small(const struct message *a, const struct message *b)
{
    if (a->type == MESSAGE_REFER) {
        return same_set(a->u.refer.candidates, b->u.refer.candidates);
    }
    if (a->type == MESSAGE_ACCEPT) {
        return a->u.accept.maybe == b->u.accept.maybe &&
               a->u.accept.winner == b->u.accept.winner &&
               a->u.accept.winner_uid == b->u.accept.winner_uid;
    }
    if (a->type == MESSAGE_CANCEL) {
        return a->u.cancel.by == b->u.cancel.by;
    }
    if (a->type == MESSAGE_VERDICT) {
        return a->u.verdict.code == b->u.verdict.code &&
               a->u.verdict.what == b->u.verdict.what &&
               a->u.verdict.by == b->u.verdict.by &&
               a->u.verdict.epoch == b->u.verdict.epoch &&
               a->u.verdict.age_ns == b->u.verdict.age_ns;
    }
    if (a->type == MESSAGE_ENDED) {
        return a->u.ended.lane == b->u.ended.lane &&
               a->u.ended.first == b->u.ended.first &&
               a->u.ended.count == b->u.ended.count &&
               rollsum_equal(&a->u.ended.sum, &b->u.ended.sum);
    }
    if (a->type == MESSAGE_WANT) {
        return a->u.want.lane == b->u.want.lane && a->u.want.first == b->u.want.first &&
               a->u.want.count == b->u.want.count;
    }
    if (a->type == MESSAGE_POLL) {
        return a->u.poll.round == b->u.poll.round;
    }
    if (a->type == MESSAGE_RESOLVE) {
        return a->u.resolve.what == b->u.resolve.what &&
               same_orphan(&a->u.resolve.orphan, &b->u.resolve.orphan);
    }
    if (a->type == MESSAGE_CHASE) {
        return same_hashes(a->u.chase.path, a->u.chase.path_count, b->u.chase.path,
                           b->u.chase.path_count) &&
               a->u.chase.hops == b->u.chase.hops &&
               hash_equal(&a->u.chase.mark, &b->u.chase.mark);
    }
    if (a->type == MESSAGE_FAMILY) {
        return a->u.family.first == b->u.family.first &&
               same_hashes(a->u.family.children, a->u.family.count,
                           b->u.family.children, b->u.family.count);
    }
    if (a->type == MESSAGE_ADJOURN) {
        return a->u.adjourn.exit_code == b->u.adjourn.exit_code &&
               a->u.adjourn.what == b->u.adjourn.what;
    }
    if (a->type == MESSAGE_KERNEL) {
        return same_text(a->u.kernel.name, b->u.kernel.name) &&
               a->u.kernel.version == b->u.kernel.version &&
               a->u.kernel.flags == b->u.kernel.flags &&
               a->u.kernel.rank_plus_one == b->u.kernel.rank_plus_one &&
               a->u.kernel.build_size == b->u.kernel.build_size &&
               (a->u.kernel.build_size == 0 ||
                memcmp(a->u.kernel.build, b->u.kernel.build, a->u.kernel.build_size) ==
                    0);
    }
    if (a->type == MESSAGE_INQUIRY) {
        return a->u.inquiry.number == b->u.inquiry.number &&
               same_hashes(a->u.inquiry.hashes, a->u.inquiry.count, b->u.inquiry.hashes,
                           b->u.inquiry.count);
    }
    if (a->type == MESSAGE_ACCOUNT) {
        return a->u.account.number == b->u.account.number &&
               same_bytes(a->u.account.bytes, a->u.account.size, b->u.account.bytes,
                          b->u.account.size);
    }
    if (a->type == MESSAGE_SIGNATURE) {
        return same_signatures(&a->u.signatures, &b->u.signatures);
    }
    if (a->type == MESSAGE_HEARTBEAT) {
        return a->u.heartbeat.token == b->u.heartbeat.token &&
               a->u.heartbeat.load == b->u.heartbeat.load &&
               a->u.heartbeat.rolls == b->u.heartbeat.rolls &&
               a->u.heartbeat.rolls_sum == b->u.heartbeat.rolls_sum &&
               same_signatures(a->u.heartbeat.signatures, b->u.heartbeat.signatures) &&
               same_set(a->u.heartbeat.suspects, b->u.heartbeat.suspects) &&
               same_set(a->u.heartbeat.dead, b->u.heartbeat.dead);
    }
    if (a->type == MESSAGE_GRANT) {
        return a->u.grant.token == b->u.grant.token &&
               a->u.grant.contradicted == b->u.grant.contradicted &&
               hash_equal(&a->u.grant.others, &b->u.grant.others);
    }
    if (a->type == MESSAGE_FENCED) {
        return a->u.fenced.epoch == b->u.fenced.epoch &&
               a->u.fenced.refused == b->u.fenced.refused;
    }
    if (a->type == MESSAGE_MEET) {
        return a->u.meet.what == b->u.meet.what &&
               a->u.meet.number == b->u.meet.number &&
               a->u.meet.code == b->u.meet.code &&
               same_set(a->u.meet.came, b->u.meet.came) &&
               a->u.meet.words_size == b->u.meet.words_size &&
               (a->u.meet.words_size == 0 ||
                memcmp(a->u.meet.words, b->u.meet.words, a->u.meet.words_size) == 0);
    }
    if (a->type == MESSAGE_LOT) {
        return a->u.lot.what == b->u.lot.what && a->u.lot.number == b->u.lot.number &&
               a->u.lot.marks == b->u.lot.marks &&
               same_hashes(a->u.lot.hashes, a->u.lot.count, b->u.lot.hashes,
                           b->u.lot.count);
    }
    if (a->type == MESSAGE_ELEMENTS) {
        return same_elements(&a->u.elements, &b->u.elements);
    }
    if (a->type == MESSAGE_PARTS) {
        return same_parts(&a->u.parts, &b->u.parts);
    }
    if (a->type == MESSAGE_SNAPSHOT) {
        const struct message_snapshot *of_a = &a->u.snapshot, *of_b = &b->u.snapshot;
        return of_a->what == of_b->what && of_a->number == of_b->number &&
               of_a->name_size == of_b->name_size &&
               (of_a->name_size == 0 ||
                memcmp(of_a->name, of_b->name, of_a->name_size) == 0) &&
               of_a->status == of_b->status && of_a->rank == of_b->rank &&
               memcmp(of_a->digest, of_b->digest, sizeof(of_a->digest)) == 0 &&
               of_a->records == of_b->records && of_a->bytes == of_b->bytes;
    }
    if (a->type == MESSAGE_TALLY) {
        return a->u.tally.what == b->u.tally.what;
    }
    if (a->type == MESSAGE_LEAVE) {
        return a->u.leave.what == b->u.leave.what;
    }
    if (a->type == MESSAGE_JOIN) {
        return a->u.join.uid == b->u.join.uid && a->u.join.host == b->u.join.host &&
               a->u.join.rank == b->u.join.rank;
    }
    return true; /* without a body: the type and the hash say it all */
}

static bool message_same(const struct message *a, const struct message *b)
{
    if (a->type != b->type || a->epoch != b->epoch || a->view_id != b->view_id ||
        a->cut != b->cut || !hash_equal(&a->hash, &b->hash)) {
        return false;
    }
    if (a->type == MESSAGE_MOTION) {
        return same_motion(&a->u.motion, &b->u.motion);
    }
    if (a->type == MESSAGE_DECISION) {
        return same_decision(&a->u.decision, &b->u.decision);
    }
    if (a->type == MESSAGE_RESULT) {
        return same_result(&a->u.result, &b->u.result);
    }
    if (a->type == MESSAGE_ROLL) {
        return same_roll(&a->u.roll, &b->u.roll);
    }
    if (a->type == MESSAGE_HASHES) {
        return same_hash_list(&a->u.hashes, &b->u.hashes);
    }
    if (a->type == MESSAGE_STATE) {
        return same_state(&a->u.state, &b->u.state);
    }
    if (a->type == MESSAGE_POLLR) {
        return same_pollr(&a->u.pollr, &b->u.pollr);
    }
    if (a->type == MESSAGE_DIVERGED) {
        return same_diverged(&a->u.diverged, &b->u.diverged);
    }
    if (a->type >= MESSAGE_PREPARE && a->type <= MESSAGE_REJECT) {
        return same_paxos(&a->u.paxos, &b->u.paxos);
    }
    if (a->type == MESSAGE_VIEW) {
        return same_view(&a->u.view, &b->u.view);
    }
    if (a->type == MESSAGE_RELEASED) {
        return same_released(&a->u.released, &b->u.released);
    }
    if (a->type == MESSAGE_REPORT || a->type == MESSAGE_HANDOVER) {
        return same_report(&a->u.report, &b->u.report);
    }
    if (a->type == MESSAGE_CENSUS) {
        return same_census(&a->u.census, &b->u.census);
    }
    return same_small(a, b);
}

#endif
