/* The front door: verbs, help, version. The only file that knows every command. */
#include <stdio.h>
#include <string.h>

#include "analyze/cmd_analyze.h"
#include "capture/cmd_capture.h"
#include "capture/cmd_verify.h"
#include "replay/cmd_replay.h"
#include "replay/cmd_serve.h"
#include "traces/base/cli.h"

static const struct cli_command *const commands[] = {&cmd_capture, &cmd_replay, &cmd_serve,
                                                     &cmd_analyze, &cmd_verify};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const struct cli_command *command_named(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static void print_overview(FILE *to)
{
    fputs("tokaudit records what an LLM server really sent, and recomputes every speed from the "
          "bytes.\n\n"
          "usage: tokaudit VERB [options]\n\n",
          to);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    fputs("  help      this text; help VERB: what a verb does, with examples;\n"
          "            help findings: what analyze finds in traces;\n"
          "            help causes: known ways to a wrong figure\n\n"
          "  tokaudit capture -p 8000 -o run.pcapng.gz -- python bench.py\n"
          "  tokaudit analyze run.pcapng.gz --claim rate=14000tok/s\n"
          "  tokaudit replay run_double --target http://127.0.0.1:8000 -o again.pcapng.gz\n",
          to);
}

static int unknown(const char *verb)
{
    fprintf(stderr, "tokaudit: there is no verb '%s'. See: tokaudit help\n", verb);
    return 2;
}

static int help(int argc, char **argv)
{
    if (argc < 3) {
        print_overview(stdout);
        return 0;
    }
    if (analyze_help(argv[2], stdout))
        return 0;
    const struct cli_command *c = command_named(argv[2]);
    if (c == NULL)
        return unknown(argv[2]);
    cli_print_help(c, stdout);
    return 0;
}

static int version(void)
{
    printf("tokaudit %s\n", TOKAUDIT_VERSION);
    capture_print_versions(stdout);
    replay_print_versions(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return 2;
    }
    const char *verb = argv[1];
    if (strcmp(verb, "help") == 0 || strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0)
        return help(argc, argv);
    if (strcmp(verb, "--version") == 0)
        return version();
    const struct cli_command *c = command_named(verb);
    return c == NULL ? unknown(verb) : c->run(argc - 1, argv + 1);
}
