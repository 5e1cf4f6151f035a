/* Fields that are added to every request when it is sent, and stand in no plan: --header, and a
 * credential from the environment. */
#ifndef REPLAY_ADDED_FIELDS_H
#define REPLAY_ADDED_FIELDS_H

#include "replay/message.h"
#include "replay/replaced.h"
#include "traces/base/cli.h"

/* Zero to begin with. */
struct added_fields {
    struct arena texts;
    VEC(struct message_field) fields;
};

/* Texts "NAME: VALUE". TA_EUSAGE for what is none; for a credential: others could read it in the
 * list of processes, and the shell keeps it; and for what would say another end of the body or
 * another protocol than is sent. */
int added_fields_headers(struct added_fields *a, const struct cli_strings *texts, struct err *e)
    TA_NODISCARD;

/* key_env: "VARIABLE", whose value goes where the recording had its credential (x-api-key, else
 * Authorization: Bearer), or "NAME=VARIABLE", whose value becomes that field's as it is. TA_EUSAGE
 * if there is no such variable, or NAME is a field that says how the message is read. Whatever the
 * name, the value is a secret. */
int added_fields_key(struct added_fields *a, const char *key_env, const struct replaced *replaced,
                     struct err *e) TA_NODISCARD;

void added_fields_done(struct added_fields *a);

#endif
