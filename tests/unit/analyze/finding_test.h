/* What tests of findings share. Each test program says which families of ids it covers, and fails
 * if one of the table was never found in it. */
#ifndef TESTS_UNIT_ANALYZE_FINDING_TEST_H
#define TESTS_UNIT_ANALYZE_FINDING_TEST_H

#include "analyze/finding_kinds.h"
#include "analyze/findings.h"
#include "tests/unit/analyze/scene.h"

static bool finding_was_found[FINDING_KINDS];

static inline const struct finding_kind *finding_kind_named(const char *id)
{
    for (size_t i = 0; i < FINDING_KINDS; i++) {
        if (strcmp(finding_kinds[i].id, id) == 0)
            return &finding_kinds[i];
    }
    return NULL;
}

static inline const struct finding *finding_look(const struct audit *a, const char *id)
{
    if (finding_kind_named(id) == NULL)
        fail_msg("%s is not in the table", id);
    for (size_t i = 0; i < a->findings.n; i++) {
        if (strcmp(a->findings.v[i].id, id) == 0)
            return &a->findings.v[i];
    }
    return NULL;
}

static inline const struct finding *finding_needs(const struct audit *a, const char *id)
{
    const struct finding *x = finding_look(a, id);
    const struct finding_kind *k = finding_kind_named(id);
    if (x == NULL)
        fail_msg("%s was not found", id);
    finding_was_found[k - finding_kinds] = true;
    assert_int_equal(x->severity, k->severity);
    assert_string_equal(x->title, k->title);
    assert_true(x->detail[0] != '\0');
    return x;
}

static inline void finding_lacks(const struct audit *a, const char *id)
{
    const struct finding *x = finding_look(a, id);
    if (x != NULL)
        fail_msg("%s is wrong: %s", id, x->detail);
}

static inline void finding_all(struct audit *a, const struct audit_options *o)
{
    made_figures(a, o);
    findings_find(a, o);
}

/* All scenes are added: is it there, or not, and nothing else at warn or fail? Frees a. */
static inline void finding_scene(struct audit *a, const struct audit_options *o, const char *id,
                                 bool there)
{
    finding_all(a, o);
    for (size_t i = 0; i < a->findings.n; i++) {
        const struct finding *x = &a->findings.v[i];
        if (strcmp(x->id, id) != 0 && x->severity != SEVERITY_INFO)
            fail_msg("beside %s: %s: %s", id, x->id, x->detail);
    }
    if (there)
        assert_true(finding_needs(a, id)->effects.n > 0 || a->traces.n > 0);
    else
        finding_lacks(a, id);
    audit_free(a);
    *a = (struct audit){0};
}

/* For a group's teardown: 0 if every kind of that family was found. */
static inline int finding_covered(const char *family)
{
    int missing = 0;
    for (size_t i = 0; i < FINDING_KINDS; i++) {
        if (strncmp(finding_kinds[i].id, family, strlen(family)) != 0 || finding_was_found[i])
            continue;
        fprintf(stderr, "no test found %s\n", finding_kinds[i].id);
        missing++;
    }
    return missing;
}

#endif
