/* Replays fuzz inputs with any compiler: driver FILE-OR-FOLDER… runs the harness it is linked with
 * over each file. libFuzzer brings a main of its own and does not need this. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    enum { MOST = 1 << 20 };
    FILE *f = fopen(path, "rb");
    uint8_t *all = malloc(MOST);
    if (f == NULL || all == NULL) {
        fprintf(stderr, "driver: cannot read %s\n", path);
        exit(1);
    }
    size_t n = fread(all, 1, MOST, f);
    fclose(f);
    uint8_t *data = malloc(n > 0 ? n : 1); /* of that size, so that one byte too many is caught */
    if (data == NULL)
        exit(1);
    memcpy(data, all, n);
    free(all);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
    return 1;
}

static int run_folder(const char *path, DIR *dir)
{
    int n = 0;
    char name[1024];
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        n += run_file(name);
    }
    return n;
}

int main(int argc, char **argv)
{
    int n = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        n += dir != NULL ? run_folder(argv[i], dir) : run_file(argv[i]);
        if (dir != NULL)
            closedir(dir);
    }
    printf("%d inputs\n", n);
    return n > 0 ? 0 : 1;
}
