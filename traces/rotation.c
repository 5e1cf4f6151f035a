/* Names of rotated files, and the `part` of a manifest. */
#include "traces/rotation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/sha256.h"

const char *rotation_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Where the extension starts, which may be of two words: ".pcapng.gz". A dot in front makes a name
 * hidden. */
static size_t stem_of(const char *path)
{
    const char *name = rotation_base(path);
    size_t stem = strlen(path), n = strlen(name);
    size_t head = stem - n;
    if (n > 3 && strcmp(name + n - 3, ".gz") == 0)
        stem -= 3;
    for (size_t at = stem; at > head + 1; at--) {
        if (path[at - 1] == '.')
            return at - 1;
    }
    return stem;
}

char *rotation_path(const char *path, uint64_t seq)
{
    size_t stem = stem_of(path);
    return mem_printf("%.*s-%05" PRIu64 "%s", (int)stem, path, seq, path + stem);
}

char *rotation_pattern(const char *path)
{
    size_t stem = stem_of(path);
    return mem_printf("%.*s-*%s", (int)stem, path, path + stem);
}

uint64_t rotation_seq(const char *path, const char *file)
{
    const char *name = rotation_base(path), *found = rotation_base(file);
    size_t stem = stem_of(path) - (size_t)(name - path);
    if (strncmp(found, name, stem) != 0 || found[stem] != '-')
        return 0;
    const char *digits = found + stem + 1;
    size_t n = strspn(digits, "0123456789");
    if (n < 5 || n > 18 || strcmp(digits + n, name + stem) != 0)
        return 0;
    return strtoull(digits, NULL, 10);
}

static bool is_hash(const char *text)
{
    return text != NULL && strlen(text) == SHA256_TEXT - 1 &&
           strspn(text, "0123456789abcdef") == SHA256_TEXT - 1;
}

void rotation_read(const struct json *manifest, struct rotation_part *out)
{
    int64_t seq = 0;
    const struct json *part = json_get(manifest, "part");
    const char *after = json_string(part, "after"), *hash = json_string(part, "sha256");
    *out = (struct rotation_part){.seq = 0};
    if (!json_int(part, "seq", &seq) || seq < 1 || (seq > 1 && !is_hash(hash)))
        return;
    out->seq = (uint64_t)seq;
    if (seq == 1)
        return;
    memcpy(out->sha256, hash, sizeof out->sha256);
    if (after != NULL && strlen(after) < sizeof out->after)
        memcpy(out->after, after, strlen(after) + 1);
}
