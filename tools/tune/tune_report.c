/* tune_report.c - one strip a shape, all on one scale: speed as a share of the floor's */
#include "tune_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tune.h"

/* pixels */
enum { WIDTH = 1220, LEFT = 210, RIGHT = 440, TOP = 112, STRIP = 44, LEGEND = 48, AXIS = 100 };
enum { PLOT = WIDTH - LEFT - RIGHT, TICKS = 5 };

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

static void print_line(FILE *out, double x1, double x2, double y1, double y2, const char *colour)
{
    (void)fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
                  x1, x2, y1, y2, colour);
}

/* ---- one shape */

typedef struct strip {
    FILE *out;
    double y;
    double floor_us; /* the right edge; without a floor the chosen one's time */
    double rule_us;
} strip;

/* A floor that is beaten was wrong: its edge is as far as the picture goes. */
static double x_of(const strip *s, double us)
{
    const double share = s->floor_us / us;
    return LEFT + PLOT * (share < 1.0 ? share : 1.0);
}

/* By the clock of the last rounds, which those who left early did not see. */
static double time_of(const strip *s, json_t *candidate)
{
    const double ratio = number_of(candidate, "ratio");
    return ratio > 0.0 ? ratio * s->rule_us : number_of(candidate, "median_us");
}

static void draw_candidate(const strip *s, json_t *candidate, bool is_rule, bool is_chosen)
{
    const double us = time_of(s, candidate);
    if (us <= 0.0) return;
    (void)fprintf(s->out,
                  "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\" fill-opacity=\"%s\" "
                  "stroke=\"%s\" stroke-width=\"2\"><title>",
                  x_of(s, us), s->y, is_chosen ? 7 : 4, colour_of(text_of(candidate, "family")),
                  is_chosen ? "1" : "0.5", is_rule ? "black" : "none");
    print_text(s->out, text_of(candidate, "words"));
    (void)fprintf(s->out, ": %.1f us +- %.1f, %s</title></circle>\n", us,
                  number_of(candidate, "spread_us"), text_of(candidate, "fate"));
}

/* What became of the shape, in words. */
static void print_verdict(FILE *out, json_t *shape)
{
    const char *verdict = text_of(shape, "verdict");
    if (strcmp(verdict, "won") == 0)
        (void)fprintf(out, "%.1f %% less time than the rule of thumb",
                      100.0 * number_of(shape, "gain"));
    else if (strcmp(verdict, "default") == 0)
        (void)fputs("the rule of thumb stays", out);
    else if (strcmp(verdict, "noisy") == 0)
        (void)fputs("too noisy to say: the rule of thumb stays", out);
    else if (strcmp(verdict, "time limit") == 0)
        (void)fputs("not finished in time, not kept", out);
    else
        print_text(out, verdict);
}

static void draw_words(const strip *s, json_t *shape, json_t *chosen, int failed)
{
    const double us = time_of(s, chosen);
    const int x = WIDTH - RIGHT + 20;
    (void)fprintf(s->out, "<text x=\"10\" y=\"%.1f\">", s->y + 4);
    print_text(s->out, text_of(shape, "set"));
    (void)fprintf(s->out, " %s, %.0f row%s</text>\n<text x=\"%d\" y=\"%.1f\">",
                  text_of(shape, "operation"), number_of(shape, "rows"),
                  number_of(shape, "rows") > 1.0 ? "s" : "", x, s->y - 3);
    if (us > 0.0) {
        (void)fprintf(s->out, "%.1f us: ", us);
        print_text(s->out, text_of(chosen, "words"));
    }
    if (failed) (void)fprintf(s->out, " (%d failed)", failed);
    (void)fprintf(s->out, "</text>\n<text x=\"%d\" y=\"%.1f\" fill=\"#666666\">", x, s->y + 12);
    if (us > 0.0 && number_of(shape, "floor_us") > 0.0)
        (void)fprintf(s->out, "%.0f %% of the floor, ", 100.0 * number_of(shape, "floor_us") / us);
    print_verdict(s->out, shape);
    (void)fputs("</text>\n", s->out);
}

static void draw_shape(FILE *out, json_t *shape, double y)
{
    json_t *candidates = json_object_get(shape, "candidates");
    json_t *candidate;
    size_t i;
    int failed = 0;
    const size_t winner = (size_t)number_of(shape, "winner");
    json_t *chosen = json_array_get(candidates, winner);
    strip s = {out, y, number_of(shape, "floor_us"),
               number_of(json_array_get(candidates, 0), "median_us")};
    if (s.floor_us <= 0.0) s.floor_us = time_of(&s, chosen);
    print_line(out, LEFT, LEFT + PLOT, y, y, "#dddddd");
    json_array_foreach(candidates, i, candidate)
    {
        failed += strcmp(text_of(candidate, "fate"), "failed") == 0;
        if (i != winner) draw_candidate(&s, candidate, i == 0, false);
    }
    draw_candidate(&s, chosen, winner == 0, true);
    draw_words(&s, shape, chosen, failed);
}

/* ---- what surrounds them */

static bool has_family(json_t *shapes, const char *family)
{
    json_t *shape, *candidate;
    size_t i, j;
    json_array_foreach(shapes, i, shape)
    {
        json_array_foreach(json_object_get(shape, "candidates"), j, candidate)
        {
            if (strcmp(text_of(candidate, "family"), family) == 0) return true;
        }
    }
    return false;
}

static int draw_sign(FILE *out, int x, int radius, const char *fill, const char *ring,
                     const char *word)
{
    (void)fprintf(out,
                  "<circle cx=\"%d\" cy=\"%d\" r=\"%d\" fill=\"%s\" stroke=\"%s\" "
                  "stroke-width=\"2\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
                  x, LEGEND - 4, radius, fill, ring, x + 12, LEGEND, word);
    return x + 36 + 7 * (int)strlen(word);
}

static void draw_legend(FILE *out, json_t *shapes)
{
    int x = draw_sign(out, 17, 7, "#444444", "none", "chosen");
    x = draw_sign(out, x, 4, "white", "black", "rule of thumb");
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
        if (has_family(shapes, colours[i].family))
            x = draw_sign(out, x, 4, colours[i].colour, "none", colours[i].family);
}

static void draw_axis(FILE *out, int bottom)
{
    (void)fprintf(out,
                  "<text x=\"%d\" y=\"%d\" fill=\"#666666\">speed, as a share of the floor's: "
                  "what memory and multipliers allow at best</text>\n",
                  LEFT, AXIS - 22);
    for (int i = 0; i <= TICKS; i++) {
        const double x = LEFT + (double)PLOT * i / TICKS;
        print_line(out, x, x, AXIS + 5, bottom, i == TICKS ? "#00aa00" : "#eeeeee");
        (void)fprintf(out,
                      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"%s\">%d %%%s"
                      "</text>\n",
                      x, AXIS, i == TICKS ? "#00aa00" : "#666666", 100 * i / TICKS,
                      i == TICKS ? " floor" : "");
    }
}

static void draw_all(FILE *out, json_t *document)
{
    json_t *shapes = json_object_get(document, "shapes");
    json_t *shape;
    size_t i;
    const int bottom = TOP + STRIP * (int)json_array_size(shapes);
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                  "<text x=\"10\" y=\"22\" font-size=\"16\">",
                  WIDTH, bottom + 20, WIDTH, bottom + 20);
    print_text(out, text_of(document, "device"));
    (void)fprintf(out, ": every choice that was measured, further right is faster</text>\n");
    draw_legend(out, shapes);
    draw_axis(out, bottom);
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
