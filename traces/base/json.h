/* A small JSON document as a tree, for what is small: configuration, profiles, workload specs,
 * claims, custom blocks. Event streams and large files go through the pull scanner,
 * traces/base/jscan.h.
 *
 * The tree lives until json_free of its root; everything else here is borrowed from it. */
#ifndef TRACES_BASE_JSON_H
#define TRACES_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/base/err.h"

struct json;

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* The one document in p[0..n); what follows it but blanks is an error. NULL and *e (TA_EFORMAT,
 * with the offset) on a fault. */
struct json *json_parse(const char *p, size_t n, struct err *e);

/* The document in the file at path, at most max bytes. */
struct json *json_read_file(const char *path, size_t max, struct err *e);

void json_free(struct json *root);

enum json_kind json_kind(const struct json *v);
const char *json_name(const struct json *v); /* the key of an object's member, else NULL */

/* Members and elements, in order: for (v = json_first(o); v != NULL; v = json_next(v)). */
const struct json *json_first(const struct json *v);
const struct json *json_next(const struct json *v);
size_t json_count(const struct json *v);

/* The member, case-sensitive; NULL if absent (or obj is NULL or no object). */
const struct json *json_get(const struct json *obj, const char *name);

/* Typed reads of a member; false (and *out untouched) if absent or of another kind. json_int
 * refuses fractions and what a double need not hold exactly (|v| >= 2^53). */
bool json_int(const struct json *obj, const char *name, int64_t *out);
bool json_bool(const struct json *obj, const char *name, bool *out);
const char *json_string(const struct json *obj, const char *name); /* NULL if absent */
bool json_ns(const struct json *obj, const char *name,
             int64_t *out); /* integer, or a string of digits */

/* The same of a value itself. */
bool json_value_int(const struct json *v, int64_t *out);
bool json_value_number(const struct json *v, double *out);
const char *json_value_string(const struct json *v);
bool json_value_bool(const struct json *v);

#endif
