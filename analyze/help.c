/* Topics of `tokaudit help` that are tables of analyze. */
#include <string.h>

#include "analyze/causes.h"
#include "analyze/cmd_analyze.h"
#include "analyze/finding_kinds.h"

bool analyze_help(const char *topic, FILE *to)
{
    static const struct {
        const char *name;
        void (*print)(FILE *to);
    } topics[] = {{"findings", finding_kinds_print}, {"causes", causes_print}};
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
        if (strcmp(topics[i].name, topic) == 0) {
            topics[i].print(to);
            return true;
        }
    }
    return false;
}
