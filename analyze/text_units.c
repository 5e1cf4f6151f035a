/* Characters and words, counted piece by piece. */
#include "analyze/text_units.h"

void text_units_add(struct text_units *u, struct slice piece)
{
    for (size_t i = 0; i < piece.n; i++) {
        uint8_t c = (uint8_t)piece.p[i];
        bool blank = c <= ' ';
        u->chars += (c & 0xC0) != 0x80;
        u->utf16 += (c & 0xC0) != 0x80;
        u->utf16 += c >= 0xF0; /* a pair of them */
        u->words += !blank && !u->in_word;
        u->in_word = !blank;
    }
}
