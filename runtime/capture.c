/* capture.c - one line, appended to a file that does not have it */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 256, FILE_BYTES_MAX = 4 << 20, PAUSE_MS = 10, WAIT_MS = 2000 };

static void make_line(char out[LINE_BYTES], const dllm_problem *p)
{
    char middle[96];
    const bool head = p->operation == DLLM_OPERATION_HEAD;
    if (head)
        (void)snprintf(middle, sizeof middle, "depth %lld hidden_type %s weight_type %s",
                       (long long)p->depth, dllm__type_name(p->hidden_type),
                       dllm__type_name(p->weight_type));
    else
        (void)snprintf(middle, sizeof middle, "logits_type %s", dllm__type_name(p->hidden_type));
    (void)snprintf(out, LINE_BYTES,
                   "%s vocab %lld valid_vocab %lld %s rows_max %lld "
                   "alignment_bytes %d\n",
                   head ? "head" : "sampler", (long long)p->vocab, (long long)p->valid_vocab,
                   middle, (long long)p->rows_max, p->alignment_bytes);
}

static bool has_line(FILE *file, const char *line)
{
    char text[2 * LINE_BYTES];
    rewind(file);
    while (fgets(text, sizeof text, file))
        if (strcmp(text, line) == 0) return true;
    return false;
}

/* Does text stand behind the file's last line end? A line must not be glued to it. */
static bool is_torn(FILE *file)
{
    return fseek(file, -1, SEEK_END) == 0 && fgetc(file) != '\n';
}

/* For as long as others take to note something, and no longer: one may be stopped with the lock. */
static bool lock_file(int fd)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    for (int waited_ms = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited_ms += PAUSE_MS) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || waited_ms >= WAIT_MS) return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* Other processes may be at it: looking and adding are one step. */
static bool add_line(FILE *file, const char *line)
{
    if (!lock_file(fileno(file))) return false;
    if (has_line(file, line)) return true;
    const char *before = is_torn(file) ? "\n" : "";
    if (fseek(file, 0, SEEK_END) != 0) return false; /* between reading and writing */
    return fprintf(file, "%s%s", before, line) >= 0 && fflush(file) == 0;
}

/* A device may have no end to look for lines in, and a large file is something else than this one. */
static FILE *open_file(const char *path)
{
    struct stat facts;
    const int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0) return NULL;
    errno = EINVAL;
    bool usable = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
    if (usable && facts.st_size > FILE_BYTES_MAX) {
        usable = false;
        errno = EFBIG;
    }
    FILE *file = usable ? fdopen(fd, "a+") : NULL;
    const int error = errno;
    if (!file) (void)close(fd);
    errno = error;
    return file;
}

void dllm__capture(const dllm_problem *problem, const dllm_log *log)
{
    char line[LINE_BYTES];
    const char *path = secure_getenv("DLLM_CAPTURE");
    if (!path || !*path || problem->operation == DLLM_OPERATION_MERGE) return;
    if (problem->is_guided) {
        dllm__log(log, "problem not noted in DLLM_CAPTURE %.200s: guided ones are not tuned", path);
        return;
    }
    make_line(line, problem);
    FILE *file = open_file(path);
    const bool added = file && add_line(file, line);
    const int error = errno;
    if (file) {
        (void)flock(fileno(file), LOCK_UN); /* a child forked meanwhile has the descriptor too */
        (void)fclose(file);
    }
    if (!added)
        dllm__log(log, "problem not noted in DLLM_CAPTURE %.200s: %s", path, strerror(error));
}
