/* Signals as a flag: nothing else may be done where they come. */
#include "replay/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof numbers / sizeof *numbers };

static struct sigaction before[SIGNALS];
static volatile sig_atomic_t came;

static void on_signal(int number)
{
    (void)number;
    came = 1;
}

void interrupt_watch(void)
{
    struct sigaction ours = {.sa_handler = on_signal};
    ours.sa_flags = (int)SA_RESETHAND; /* and no SA_RESTART: what waits wakes up */
    sigemptyset(&ours.sa_mask);
    came = 0;
    for (size_t i = 0; i < SIGNALS; i++) {
        if (sigaction(numbers[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            sigaction(numbers[i], &ours, NULL);
    }
}

bool interrupt_came(void)
{
    return came != 0;
}

void interrupt_unwatch(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&set, numbers[i]);
    if (came != 0)
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(numbers[i], &before[i], NULL);
}
