/* A running SHA-256 (FIPS 180-4, by OpenSSL): its hash so far can be had at any point. */
#ifndef TRACES_SHA256_H
#define TRACES_SHA256_H

#include <stddef.h>

enum { SHA256_TEXT = 65 }; /* 64 hex digits and a NUL */

struct sha256;

struct sha256 *sha256_new(void);
void sha256_free(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *p, size_t n);
void sha256_text(const struct sha256 *s, char out[SHA256_TEXT]); /* of all bytes added so far */

#endif
