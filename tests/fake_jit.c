/* fake_jit.c - a compile helper that goes wrong in the way its file name says */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "compile_message.h"

static void send_bytes(const void *bytes, size_t size)
{
    const ssize_t sent = send(STDIN_FILENO, bytes, size, MSG_NOSIGNAL);
    if (sent != (ssize_t)size) _exit(EXIT_FAILURE);
}

static void receive_bytes(void *bytes, size_t size)
{
    if (recv(STDIN_FILENO, bytes, size, MSG_WAITALL) != (ssize_t)size) _exit(EXIT_FAILURE);
}

/** Takes the request in, so that what follows is about the answer alone. */
static void swallow_request(void)
{
    unsigned char frame[DLLM_FRAME_BYTES];
    size_t size = 0;
    receive_bytes(frame, sizeof frame);
    if (!dllm__frame_payload_bytes(&size, frame)) _exit(EXIT_FAILURE);
    unsigned char *payload = malloc(size + 1);
    if (!payload) _exit(EXIT_FAILURE);
    receive_bytes(payload, size);
    free(payload);
}

static dllm_message good_answer(void)
{
    static char cubin[] = "a cubin";
    const dllm_compile_answer answer = {
        .outcome = DLLM_COMPILED, .cubin = (unsigned char *)cubin, .cubin_bytes = sizeof cubin};
    dllm_message message;
    if (!dllm__answer_encode(&message, &answer)) _exit(EXIT_FAILURE);
    return message;
}

static void hang(void)
{
    for (;;)
        (void)pause();
}

/** Becomes the real helper from the second start on, which a file beside the program tells. */
static void become_real_if_started_before(const char *path)
{
    char mark[4096];
    (void)snprintf(mark, sizeof mark, "%s.mark", path);
    const int file = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) (void)execl(DLLM_BINARY_DIR "/dllm-jit", "dllm-jit", (char *)NULL);
    (void)close(file);
}

static void answer_in_mode(const char *mode, dllm_message answer)
{
    if (strcmp(mode, "half") == 0) answer.size /= 2;
    if (strcmp(mode, "no_frame") == 0) answer.size = DLLM_FRAME_BYTES / 2;
    if (strcmp(mode, "flipped") == 0) answer.bytes[answer.size - 3] ^= 4;
    if (strcmp(mode, "garbage") == 0) memset(answer.bytes, 0x5a, answer.size);
    if (strcmp(mode, "huge") == 0) memset(answer.bytes + 8, 0xff, 8);
    if (strcmp(mode, "half_hang") == 0) answer.size /= 2;
    send_bytes(answer.bytes, answer.size);
    if (strcmp(mode, "half_hang") == 0 || strcmp(mode, "lingers") == 0) hang();
}

int main(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    (void)argc;
    (void)setrlimit(RLIMIT_CORE, &no_core);
    const char *slash = strrchr(argv[0], '/');
    const char *mode = slash ? slash + 1 : argv[0];
    if (strcmp(mode, "exits") == 0) return EXIT_FAILURE;
    if (strcmp(mode, "mute") == 0) hang();
    if (strcmp(mode, "other") == 0) send_bytes("dllm-jit wire 0\n", DLLM_HELLO_BYTES);
    if (strcmp(mode, "other") == 0) hang();
    if (strcmp(mode, "aborts_once") == 0) become_real_if_started_before(argv[0]);
    send_bytes(DLLM_HELLO, DLLM_HELLO_BYTES);
    if (strcmp(mode, "deaf") == 0) hang();
    if (strcmp(mode, "goes") == 0) return EXIT_FAILURE;
    swallow_request();
    if (strncmp(mode, "aborts", 6) == 0) abort();
    if (strcmp(mode, "hangs") == 0) hang();
    if (strcmp(mode, "leaves") == 0) return EXIT_SUCCESS;
    const dllm_message answer = good_answer();
    answer_in_mode(mode, answer);
    free(answer.bytes);
    return EXIT_FAILURE; /* the answer decides, not this */
}
