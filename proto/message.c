/* message.c - what message types and evidence are called (message.h). */
#include "proto/message.h"

const unsigned char message_types[MESSAGE_TYPE_END] = {
#define X(name, task, scope, quiet, late, stirs, past, paxos, host)                    \
    [MESSAGE_##name] = (task)*MESSAGE_IS_TASK | (scope)*MESSAGE_IS_SCOPE |             \
                       (quiet)*MESSAGE_IS_QUIET | (late)*MESSAGE_IS_LATE |             \
                       (stirs)*MESSAGE_IS_STIRS | (past)*MESSAGE_IS_PAST |             \
                       (paxos)*MESSAGE_IS_PAXOS | (host)*MESSAGE_IS_HOST,
    MESSAGE_TYPES(X)
#undef X
};

const char *message_type_name(enum message_type type)
{
    static const char *const names[MESSAGE_TYPE_END] = {
#define X(name, ...) [MESSAGE_##name] = #name,
        MESSAGE_TYPES(X)
#undef X
    };
    if (type <= MESSAGE_NONE || type >= MESSAGE_TYPE_END) {
        return "?";
    }
    return names[type];
}

const char *evidence_name(enum evidence evidence)
{
    static const char *const names[EVIDENCE_END] = {
#define X(name, text) [EVIDENCE_##name] = text,
        EVIDENCE(X)
#undef X
    };
    if (evidence <= EVIDENCE_NONE || evidence >= EVIDENCE_END) {
        return "none";
    }
    return names[evidence];
}
