/* Typed getters over cJSON, which no other file sees. */
#include "traces/base/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/base/mem.h"

static const cJSON *in(const struct json *v)
{
    return (const cJSON *)v;
}

static const struct json *out(const cJSON *v)
{
    return (const struct json *)v;
}

struct json *json_parse(const char *p, size_t n, struct err *e)
{
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithLengthOpts(p, n, &end, 0);
    size_t at = end == NULL ? 0 : (size_t)(end - p);
    if (root == NULL) {
        err_set(e, TA_EFORMAT, "not valid JSON at offset %zu", at);
        return NULL;
    }
    while (at < n && strchr(" \t\r\n", p[at]) != NULL && p[at] != '\0')
        at++;
    if (at < n) {
        err_set(e, TA_EFORMAT, "text after the JSON document at offset %zu", at);
        cJSON_Delete(root);
        return NULL;
    }
    return (struct json *)root;
}

static char *read_all(const char *path, size_t max, size_t *n, struct err *e)
{
    struct stat st;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        err_sys(e, TA_EFORMAT, "cannot read %s", path);
        goto out;
    }
    if (S_ISDIR(st.st_mode)) {
        err_set(e, TA_EFORMAT, "%s is a directory, expected a JSON file", path);
        goto out;
    }
    if (st.st_size < 0 || (uint64_t)st.st_size > max) {
        err_set(e, TA_EFORMAT, "%s has %lld bytes, more than the %zu expected of such a file", path,
                (long long)st.st_size, max);
        goto out;
    }
    text = mem_alloc((size_t)st.st_size + 1);
    size_t got = 0;
    while (got < (size_t)st.st_size) {
        ssize_t r = read(fd, text + got, (size_t)st.st_size - got);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        got += (size_t)r;
    }
    text[got] = '\0';
    *n = got;
out:
    if (fd >= 0)
        close(fd);
    return text;
}

struct json *json_read_file(const char *path, size_t max, struct err *e)
{
    size_t n = 0;
    char *text = read_all(path, max, &n, e);
    if (text == NULL)
        return NULL;
    struct err inner;
    struct json *root = json_parse(text, n, &inner);
    if (root == NULL)
        err_set(e, TA_EFORMAT, "%s: %s", path, inner.msg);
    free(text);
    return root;
}

void json_free(struct json *root)
{
    cJSON_Delete((cJSON *)root);
}

enum json_kind json_kind(const struct json *v)
{
    const cJSON *c = in(v);
    if (cJSON_IsBool(c))
        return JSON_BOOL;
    if (cJSON_IsNumber(c))
        return JSON_NUMBER;
    if (cJSON_IsString(c))
        return JSON_STRING;
    if (cJSON_IsArray(c))
        return JSON_ARRAY;
    return cJSON_IsObject(c) ? JSON_OBJECT : JSON_NULL;
}

const char *json_name(const struct json *v)
{
    return v == NULL ? NULL : in(v)->string;
}

const struct json *json_first(const struct json *v)
{
    return v == NULL ? NULL : out(in(v)->child);
}

const struct json *json_next(const struct json *v)
{
    return v == NULL ? NULL : out(in(v)->next);
}

size_t json_count(const struct json *v)
{
    size_t n = 0;
    for (const struct json *c = json_first(v); c != NULL; c = json_next(c))
        n++;
    return n;
}

const struct json *json_get(const struct json *obj, const char *name)
{
    return obj == NULL ? NULL : out(cJSON_GetObjectItemCaseSensitive(in(obj), name));
}

bool json_value_number(const struct json *v, double *value)
{
    if (v == NULL || !cJSON_IsNumber(in(v)))
        return false;
    *value = in(v)->valuedouble;
    return true;
}

bool json_value_int(const struct json *v, int64_t *value)
{
    double d;
    if (!json_value_number(v, &d) || !(fabs(d) < 9007199254740992.0) || d != floor(d))
        return false;
    *value = (int64_t)d;
    return true;
}

const char *json_value_string(const struct json *v)
{
    return v != NULL && cJSON_IsString(in(v)) ? in(v)->valuestring : NULL;
}

bool json_value_bool(const struct json *v)
{
    return v != NULL && cJSON_IsTrue(in(v));
}

bool json_int(const struct json *obj, const char *name, int64_t *value)
{
    return json_value_int(json_get(obj, name), value);
}

bool json_bool(const struct json *obj, const char *name, bool *value)
{
    const struct json *v = json_get(obj, name);
    if (v == NULL || json_kind(v) != JSON_BOOL)
        return false;
    *value = json_value_bool(v);
    return true;
}

const char *json_string(const struct json *obj, const char *name)
{
    return json_value_string(json_get(obj, name));
}

bool json_ns(const struct json *obj, const char *name, int64_t *value)
{
    const char *text = json_string(obj, name);
    if (text == NULL)
        return json_int(obj, name, value);
    char *end = NULL;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        return false;
    *value = v;
    return true;
}
