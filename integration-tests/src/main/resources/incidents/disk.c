/*
 * Preloaded into a process, it makes its disk slow and remembers what was synced, for a loss of power. The file named by
 * PALISADE_TEST_DISK holds a 64-bit integer, read at every call through a shared mapping: by so many milliseconds each sync
 * is delayed. After a sync the line "inode size" is added to the file of that name with .log behind it: everything of the
 * file up to that size, as it was before the sync began, is safe.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *delay_millis;
static int synced = -1;

__attribute__((constructor)) static void find(void) {
    const char *name = getenv("PALISADE_TEST_DISK");
    char log[4096];
    int file = name ? open(name, O_RDONLY) : -1;
    void *at = file < 0 ? MAP_FAILED : mmap(0, sizeof *delay_millis, PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED || snprintf(log, sizeof log, "%s.log", name) >= (int) sizeof log) {
        abort();
    }
    close(file);
    synced = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (synced < 0) {
        abort();
    }
    delay_millis = at;
}

static int sync_by(long call, int fd) {
    struct stat before;
    int known = fstat(fd, &before) == 0 && S_ISREG(before.st_mode);
    int64_t millis = delay_millis ? *delay_millis : 0;
    if (millis > 0) {
        struct timespec span = {millis / 1000, millis % 1000 * 1000000};
        nanosleep(&span, 0);
    }
    int result = (int) syscall(call, fd);
    if (result == 0 && known && synced >= 0) {
        char line[64];
        int length = snprintf(line, sizeof line, "%llu %lld\n", (unsigned long long) before.st_ino, (long long) before.st_size);
        if (write(synced, line, (size_t) length) != length) {
            abort();
        }
    }
    return result;
}

int fsync(int fd) {
    return sync_by(SYS_fsync, fd);
}

int fdatasync(int fd) {
    return sync_by(SYS_fdatasync, fd);
}
