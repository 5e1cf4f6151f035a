#include "analyze/load_files.h"

#include <string.h>

#include "traces/base/json.h"
#include "traces/custom.h"

int load_files_open(struct load_files *f, struct err *e)
{
    f->used = 1;
    return reader_open(&f->reader, f->paths[0], e);
}

/* Is it the part that follows the one that was read? By the hash of that, which is known now. */
static bool follows(const struct load_files *f, const struct rotation_part *last, const char *path)
{
    struct reader *r = NULL;
    struct rec rec;
    struct err ignored;
    struct rotation_part part = {.seq = 0};
    if (reader_open(&r, path, &ignored) != TA_OK)
        return false;
    if (reader_next(r, &rec, &ignored) == 1 && rec.kind == REC_CUSTOM &&
        custom_is(rec.json, "manifest")) {
        struct json *manifest = json_parse(rec.json.p, rec.json.n, NULL);
        rotation_read(manifest, &part);
        json_free(manifest);
    }
    reader_close(r);
    return part.seq == last->seq + 1 && strcmp(part.sha256, reader_health(f->reader)->sha256) == 0;
}

static const char *hash_now(const struct load_files *f)
{
    return arena_text(f->texts, slice_of(reader_health(f->reader)->sha256));
}

static void add_file(struct load_files *f, const char *path, uint64_t frames)
{
    VEC_PUSH(&f->info->files,
             ((struct trace_file){arena_text(f->texts, slice_of(path)), hash_now(f), frames}));
}

/* What is wrong with any file is wrong with the whole; the hash of the last one covers those
 * before, since each names that of the one before it. */
static void add_health(struct reader_health *sum, const struct reader_health *h)
{
    bool noted = sum->note[0] != '\0';
    sum->truncated |= h->truncated;
    sum->damaged_members += h->damaged_members;
    sum->skipped_blocks += h->skipped_blocks;
    sum->bad_blocks += h->bad_blocks;
    sum->file_bytes += h->file_bytes;
    memcpy(sum->sha256, h->sha256, sizeof sum->sha256);
    if (!noted)
        memcpy(sum->note, h->note, sizeof sum->note);
}

/* The file at hand has been read. */
static void end_file(struct load_files *f)
{
    struct trace_info *t = f->info;
    if (t->files.n > 0)
        t->files.v[t->files.n - 1].sha256 = hash_now(f);
    add_health(&t->health, reader_health(f->reader));
    reader_close(f->reader);
    f->reader = NULL;
}

struct reader *load_files_next(struct load_files *f, const struct rotation_part *part,
                               uint64_t frames, struct err *e)
{
    struct reader *r = NULL;
    if (part->seq == 0 || f->used == f->n_paths || !follows(f, part, f->paths[f->used]) ||
        reader_open(&r, f->paths[f->used], e) != TA_OK)
        return NULL;
    if (f->info->files.n == 0) {
        f->info->part = *part;
        add_file(f, f->paths[0], 0);
    }
    end_file(f);
    f->reader = r;
    add_file(f, f->paths[f->used++], frames);
    return r;
}

void load_files_end(struct load_files *f, const struct rotation_part *part)
{
    if (f->info->files.n == 0)
        f->info->part = *part;
    end_file(f);
}
