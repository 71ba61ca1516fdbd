/* tune_report.c - one strip a shape: floor, candidates, rule of thumb, winner, on a scale of its own */
#include "tune_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tune.h"

/* pixels */
enum { WIDTH = 1100, LEFT = 230, RIGHT = 330, TOP = 60, STRIP = 44 };

static const double scale_most = 1.6; /* a strip ends at so many times its floor or its winner */

static const struct {
    const char *family, *colour;
} colours[] = {{"sm90", "#1b6ca8"},   {"mma", "#d1495b"},   {"gemm_chunk", "#edae49"},
               {"stream", "#1b6ca8"}, {"tiled", "#66a182"}, {"naive", "#8d6a9f"}};

static const char *colour_of(const char *family)
{
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
        if (strcmp(colours[i].family, family) == 0) return colours[i].colour;
    return "#444444";
}

static double number_of(json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static const char *text_of(json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* Text of a file or a driver may hold what means something in XML. */
static void print_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            (void)fputs("&amp;", out);
        else if (*text == '<')
            (void)fputs("&lt;", out);
        else
            (void)fputc(*text, out);
    }
}

typedef struct strip {
    FILE *out;
    double y;
    double least_us; /* at its left edge */
    double most_us;
} strip;

static double x_of(const strip *s, double us)
{
    const double share = (us - s->least_us) / (s->most_us - s->least_us);
    return LEFT + (WIDTH - LEFT - RIGHT) * (share < 1.0 ? share : 1.0);
}

static void draw_candidate(const strip *s, json_t *candidate, bool is_rule)
{
    const double us = number_of(candidate, "median_us");
    const bool is_winner = strcmp(text_of(candidate, "fate"), "winner") == 0;
    if (us <= 0.0) return;
    (void)fprintf(s->out,
                  "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\" fill-opacity=\"%s\" "
                  "stroke=\"%s\"><title>",
                  x_of(s, us), s->y, is_winner ? 7 : 4, colour_of(text_of(candidate, "family")),
                  is_winner ? "1" : "0.5", is_rule ? "black" : "none");
    print_text(s->out, text_of(candidate, "words"));
    (void)fprintf(s->out, ": %.1f us +- %.1f, %s</title></circle>\n", us,
                  number_of(candidate, "spread_us"), text_of(candidate, "fate"));
}

static void draw_line(const strip *s, double us, const char *colour)
{
    (void)fprintf(s->out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
                  x_of(s, us), x_of(s, us), s->y - 14, s->y + 14, colour);
}

static void draw_words(const strip *s, json_t *shape)
{
    json_t *candidates = json_object_get(shape, "candidates");
    json_t *rule = json_array_get(candidates, 0);
    json_t *winner = json_array_get(candidates, (size_t)number_of(shape, "winner"));
    const double us = number_of(winner, "median_us"), rule_us = number_of(rule, "median_us");
    const double floor_us = number_of(shape, "floor_us");
    (void)fprintf(s->out, "<text x=\"10\" y=\"%.1f\">", s->y + 4);
    print_text(s->out, text_of(shape, "set"));
    (void)fprintf(s->out, " %s, %.0f rows</text>\n<text x=\"%d\" y=\"%.1f\">",
                  text_of(shape, "operation"), number_of(shape, "rows"), WIDTH - RIGHT + 15,
                  s->y - 3);
    print_text(s->out, text_of(winner, "words"));
    (void)fprintf(s->out, "</text>\n<text x=\"%d\" y=\"%.1f\" fill=\"#666666\">%.1f us",
                  WIDTH - RIGHT + 15, s->y + 12, us);
    if (floor_us > 0.0 && us > 0.0)
        (void)fprintf(s->out, ", %.0f %% of the floor's speed", 100.0 * floor_us / us);
    if (rule_us > 0.0 && us > 0.0)
        (void)fprintf(s->out, ", rule %+.1f %%", 100.0 * (rule_us / us - 1.0));
    (void)fprintf(s->out, ", %s</text>\n", text_of(shape, "verdict"));
}

static void draw_shape(FILE *out, json_t *shape, double y)
{
    json_t *candidates = json_object_get(shape, "candidates");
    json_t *candidate;
    size_t i;
    const double floor_us = number_of(shape, "floor_us");
    const double winner_us =
        number_of(json_array_get(candidates, (size_t)number_of(shape, "winner")), "median_us");
    const double least = floor_us > 0.0 && floor_us < winner_us ? floor_us : winner_us;
    const strip s = {out, y, least * 0.98,
                     (winner_us > floor_us ? winner_us : floor_us) * scale_most};
    if (s.most_us > s.least_us) {
        (void)fprintf(out,
                      "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n",
                      LEFT, WIDTH - RIGHT, y, y);
        if (floor_us > 0.0) draw_line(&s, floor_us, "#00aa00");
        json_array_foreach(candidates, i, candidate) draw_candidate(&s, candidate, i == 0);
    }
    draw_words(&s, shape);
}

static void draw_all(FILE *out, json_t *document)
{
    json_t *shapes = json_object_get(document, "shapes");
    json_t *shape;
    size_t i;
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
                  "font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                  "<text x=\"10\" y=\"22\" font-size=\"16\">",
                  WIDTH, TOP + STRIP * json_array_size(shapes) + 20);
    print_text(out, text_of(document, "device"));
    (void)fprintf(out,
                  ": time of every candidate, %s, %.0f s</text>\n<text x=\"10\" y=\"40\" "
                  "fill=\"#666666\">left is faster; green line: floor; black ring: rule of thumb; "
                  "large: chosen; right end: %.1f times the chosen one and more</text>\n",
                  text_of(document, "patience"), number_of(document, "seconds"), scale_most);
    json_array_foreach(shapes, i, shape)
        draw_shape(out, shape, (double)TOP + STRIP * (double)i + STRIP / 2.0);
    (void)fputs("</svg>\n", out);
}

bool tune_report_write(const char *path, json_t *document)
{
    const char *dot = strrchr(path, '.');
    const bool is_svg = dot && strcmp(dot, ".svg") == 0;
    FILE *out = fopen(path, "we");
    if (out) {
        if (!is_svg)
            (void)fputs("<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>dllm-tune</title>\n",
                        out);
        draw_all(out, document);
    }
    const bool failed = !out || ferror(out);
    if ((out && fclose(out) != 0) || failed) {
        (void)tune_fail(TUNE_SOME_FAILED, "%s cannot be written: %s", path, strerror(errno));
        return false;
    }
    return true;
}
