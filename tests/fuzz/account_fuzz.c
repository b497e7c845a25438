/* account_fuzz.c - no bytes from a socket or a peer harm who reads what ranks say.
 *
 * The input is a Picture as `moot state` gets it.  It is read, diagnosed, and told as
 * text and as JSON; each account in it is also packed and read as one that came in an
 * ACCOUNT, which must be the same or refused (protobuf-c keeps a field of number 0 that
 * it does not know, and refuses what it writes of it).  The text holds nothing that a
 * terminal would obey.
 */
#include "node/explain/rank_snapshot.h"
#include "node/tools/state_sockets.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool true_or_found)
{
    if (!true_or_found) {
        abort();
    }
}

/* JSON goes to the standard output. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    require(freopen("/dev/null", "w", stdout) != NULL);
    return 0;
}

static void check_account(const Moot__Account *account)
{
    size_t size = moot__account__get_packed_size(account);
    uint8_t *bytes = malloc(size + 1);
    moot__account__pack(account, bytes);
    Moot__Account *read = account_read(bytes, size);
    require(read == NULL ||
            (read->rank == account->rank && read->n_tasks == account->n_tasks));
    account_free(read);
    free(bytes);
}

static void check_text(const Moot__Picture *picture)
{
    struct text text = {0};
    state_text(&text, picture);
    for (const char *at = text_get(&text); *at != '\0'; at++) {
        unsigned char here = (unsigned char)at[0], next = (unsigned char)at[1];
        require(here == '\n' || (here >= 0x20 && here != 0x7f));
        require(here != 0xc2 || next < 0x80 || next >= 0xa0);
    }
    text_release(&text);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    Moot__Picture *picture = state_picture_read(data, size);
    if (picture == NULL) {
        return 0;
    }
    for (size_t i = 0; i < picture->n_seats; i++) {
        if (picture->seats[i]->account != NULL) {
            check_account(picture->seats[i]->account);
        }
    }
    check_text(picture);
    state_json(&picture->base);
    moot__picture__free_unpacked(picture, NULL);
    return 0;
}
