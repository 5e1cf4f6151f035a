/* A running SHA-256 over OpenSSL's EVP. */
#include "traces/sha256.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "traces/base/mem.h"

struct sha256 {
    EVP_MD_CTX *all;
    EVP_MD_CTX *so_far; /* what a look at the hash finishes in place of all */
};

/* OpenSSL's calls on a built-in digest fail for want of memory, or where a policy forbids SHA-256.
 */
static void must(int ok)
{
    if (ok != 1) {
        fputs("tokaudit: OpenSSL does not give a SHA-256; is a provider configured away?\n",
              stderr);
        abort();
    }
}

struct sha256 *sha256_new(void)
{
    struct sha256 *s = mem_zalloc(sizeof *s);
    s->all = EVP_MD_CTX_new();
    s->so_far = EVP_MD_CTX_new();
    must(s->all != NULL && s->so_far != NULL);
    must(EVP_DigestInit_ex(s->all, EVP_sha256(), NULL));
    return s;
}

void sha256_free(struct sha256 *s)
{
    if (s == NULL)
        return;
    EVP_MD_CTX_free(s->all);
    EVP_MD_CTX_free(s->so_far);
    free(s);
}

void sha256_add(struct sha256 *s, const void *p, size_t n)
{
    must(EVP_DigestUpdate(s->all, p, n));
}

void sha256_text(const struct sha256 *s, char out[SHA256_TEXT])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    must(EVP_MD_CTX_copy_ex(s->so_far, s->all));
    must(EVP_DigestFinal_ex(s->so_far, digest, NULL));
    for (int i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}
