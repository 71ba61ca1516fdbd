/* test_families.c - rules of thumb are legal, cover the vocabulary and keep the workspace small */
#include "check_suite.h"

#include "families.h"
#include "family_parts.h"
#include "heads.h"
#include "shipped.h"
#include "status.h"

#include <string.h>

static const char *const archs[] = {"sm_75",  "sm_80",  "sm_86", "sm_89",
                                    "sm_90a", "sm_100", "sm_120"};

enum { ARCHS = sizeof archs / sizeof archs[0] };

static dllm_problem head(int64_t vocab, int64_t depth, int64_t rows, dllm_type type)
{
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    dllm_problem problem;
    options.vocab = vocab;
    options.depth = depth;
    options.rows_max = rows;
    options.hidden_type = options.weight_type = type;
    options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    return problem;
}

static dllm_device typical(const char *arch)
{
    dllm_device device;
    ck_assert_int_eq(dllm__device_typical(&device, arch), DLLM_OK);
    return device;
}

/* What a split must be, whatever the family: no column left out, none counted twice. */
static void check_splits(const dllm_problem *problem, const dllm_choice *choice)
{
    const bool chunked = choice->chunk_vocab > 0;
    const int64_t columns = chunked ? choice->chunk_vocab : problem->valid_vocab;
    const int64_t covered = (int64_t)choice->splits * choice->split_columns;
    ck_assert_msg(covered >= columns && covered - choice->split_columns < columns,
                  "%s: %d splits of %d columns for %lld, rows %lld", choice->family->name,
                  choice->splits, choice->split_columns, (long long)columns,
                  (long long)problem->rows_max);
}

START_TEST(proposals_are_legal_and_cover_the_vocabulary)
{
    static const int64_t vocabs[] = {1, 5, 31, 64, 129, 4096, 50257, 126464, 262144, INT32_MAX};
    const dllm_device device = typical(archs[_i]);
    int legal = 0;
    for (size_t v = 0; v < sizeof vocabs / sizeof vocabs[0]; v++)
        for (int64_t rows = 1; rows <= 100000; rows = rows * 3 + 1)
            for (int f = 0; dllm__family_at(f); f++) {
                const dllm_family *family = dllm__family_at(f);
                dllm_problem problem = head(vocabs[v], 4096, rows, DLLM_BF16);
                dllm_choice choice;
                if (family->operation != DLLM_OPERATION_HEAD) continue;
                for (int guided = 0; guided < 2; guided++) {
                    problem.is_guided = guided;
                    if (dllm__propose(&choice, family, &problem, &device) != DLLM_OK) continue;
                    check_splits(&problem, &choice);
                    legal++;
                }
            }
    ck_assert_int_gt(legal, 200);
}
END_TEST

static void check_workspace(const dllm_head_set *set, int64_t rows, const dllm_device *device)
{
    for (int f = 0; dllm__family_at(f); f++) {
        const dllm_family *family = dllm__family_at(f);
        const dllm_problem problem = head(set->vocab, set->depth, rows, set->weight_type);
        dllm_choice choice;
        if (family->operation != DLLM_OPERATION_HEAD) continue;
        if (dllm__propose(&choice, family, &problem, device) != DLLM_OK) continue;
        const size_t limit = choice.chunk_rows ? (size_t)64 << 20 : (size_t)16 << 20;
        const size_t bytes = family->workspace_bytes(&problem, &choice);
        ck_assert_msg(bytes + 255 <= limit, "%s, %s: %zu bytes at %lld rows", family->name,
                      set->set, bytes, (long long)rows);
    }
}

START_TEST(workspace_of_every_head_is_bounded)
{
    const dllm_device device = typical(archs[_i]);
    int count = 0;
    const dllm_head_set *sets = dllm__head_sets(&count);
    for (int i = 0; i < count; i++)
        for (int64_t rows = 1; rows <= 16384; rows *= 2)
            check_workspace(&sets[i], rows, &device);
}
END_TEST

START_TEST(a_family_asked_for_is_taken_or_refused_with_its_reason)
{
    const dllm_device device = typical("sm_75");
    dllm_problem problem = head(1000, 64, 8, DLLM_BF16);
    dllm_choice choice;
    char why[192];
    (void)strcpy(problem.family, "mma"); /* NOLINT: fits */
    ck_assert_int_eq(dllm__choose(&choice, why, &problem, &device), DLLM_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "sm_75"));
    (void)strcpy(problem.family, "tiled"); /* NOLINT: fits */
    ck_assert_int_eq(dllm__choose(&choice, why, &problem, &device), DLLM_OK);
    ck_assert_str_eq(choice.family->name, "tiled");
    (void)strcpy(problem.family, "wmma"); /* NOLINT: fits */
    ck_assert_int_eq(dllm__choose(&choice, why, &problem, &device), DLLM_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "mma, gemm_chunk, naive, tiled, cpu"));
}
END_TEST

/* Every family that takes a head takes a guided one. */
START_TEST(guidance_is_taken_where_the_head_is)
{
    const dllm_device device = typical(archs[_i]);
    for (int64_t rows = 1; rows < 20000; rows = rows * 3 + 1)
        for (int f = 0; dllm__family_at(f); f++) {
            dllm_problem problem = head(126464, 4096, rows, DLLM_BF16);
            dllm_choice plain, guided;
            problem.operation = dllm__family_at(f)->operation;
            if (problem.operation == DLLM_OPERATION_MERGE ||
                dllm__propose(&plain, dllm__family_at(f), &problem, &device) != DLLM_OK)
                continue;
            problem.is_guided = true;
            ck_assert_msg(dllm__propose(&guided, dllm__family_at(f), &problem, &device) == DLLM_OK,
                          "%lld rows: %s", (long long)rows, dllm_last_error());
        }
}
END_TEST

/* What a family lacks is refused by name, before anything is chosen. */
START_TEST(refuses_what_a_family_does_not_implement)
{
    static const struct {
        uint32_t outputs, inputs, behaviour;
        float softcap;
        const char *words;
    } lacking[] = {
        {DLLM_OUT_ENTROPY, 0, 0, 0, "plain: entropy is not implemented"},
        {DLLM_OUT_LSE, DLLM_IN_BIAS, 0, 0, "plain: bias is not"},
        {DLLM_OUT_LSE, 0, DLLM_PARTIAL_STATE, 0, "plain: partial_state is not"},
        {DLLM_OUT_LSE, 0, 0, 30, "plain: softcap is not"},
        {DLLM_OUT_LSE, DLLM_IN_CFG_SCALE, 0, 0, "plain: cfg_scale is not"},
    };
    dllm_problem problem = head(1000, 64, 8, DLLM_BF16);
    ck_assert_int_eq(dllm__check_ability("plain", &dllm__able_plain, &problem), DLLM_OK);
    problem.outputs = lacking[_i].outputs;
    problem.inputs = lacking[_i].inputs;
    problem.behaviour = lacking[_i].behaviour;
    problem.softcap = lacking[_i].softcap;
    ck_assert_int_eq(dllm__check_ability("plain", &dllm__able_plain, &problem), DLLM_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), lacking[_i].words));
    ck_assert_int_eq(dllm__check_ability("all", &dllm__able_all, &problem), DLLM_OK);
}
END_TEST

START_TEST(cublas_is_opened_only_where_it_would_be_taken)
{
    const dllm_device ampere = typical("sm_80");
    const dllm_device hopper = typical("sm_90a");
    dllm_problem problem = head(1000, 64, 4096, DLLM_BF16);
    ck_assert(dllm__wants_cublas(&problem, &ampere));
    ck_assert(!dllm__wants_cublas(&problem, &hopper));
    (void)strcpy(problem.family, "gemm_chunk"); /* NOLINT: fits */
    ck_assert(dllm__wants_cublas(&problem, &hopper));
    problem = head(1000, 64, 16, DLLM_BF16);
    ck_assert(!dllm__wants_cublas(&problem, &ampere));
}
END_TEST

START_TEST(hopper_takes_sm90_where_it_can)
{
    const dllm_device device = typical("sm_90a");
    dllm_problem problem = head(1000, 64, 4096, DLLM_FP16);
    dllm_choice choice;
    char why[192];
    ck_assert_int_eq(dllm__choose(&choice, why, &problem, &device), DLLM_OK);
    ck_assert_str_eq(choice.family->name, "sm90");
    problem.alignment_bytes = 8;
    ck_assert_int_eq(dllm__choose(&choice, why, &problem, &device), DLLM_OK);
    ck_assert_str_ne(choice.family->name, "sm90");
}
END_TEST

enum { FAMILIES_MAX = 16 };

/* Kernel, tile and splits: what a row's bits follow from. */
START_TEST(batch_invariant_choices_do_not_follow_from_the_rows)
{
    static const int64_t rows_max[] = {1, 16, 64, 100, 192, 3000, 16384};
    const dllm_device device = typical("sm_90a");
    const dllm_family *family = dllm__family_at(_i);
    dllm_problem problem = head(126464, 4096, 512, DLLM_BF16);
    dllm_choice first;
    if (!family) return;
    problem.operation = family->operation;
    problem.behaviour = DLLM_BATCH_INVARIANT;
    if (dllm__propose(&first, family, &problem, &device) != DLLM_OK) return;
    ck_assert_str_ne(family->name, "gemm_chunk");
    for (size_t i = 0; i < sizeof rows_max / sizeof rows_max[0]; i++) {
        dllm_choice other;
        problem.rows_max = rows_max[i];
        ck_assert_int_eq(dllm__propose(&other, family, &problem, &device), DLLM_OK);
        ck_assert_msg(first.tile_rows == other.tile_rows && first.tile_vocab == other.tile_vocab &&
                          first.splits == other.splits &&
                          first.split_columns == other.split_columns,
                      "%s: other splits at %lld rows", family->name, (long long)rows_max[i]);
    }
}
END_TEST

START_TEST(a_cpu_takes_its_own_families_alone)
{
    const dllm_device device = {.arch = "cpu", .is_cpu = true, .multiprocessors = 2};
    for (int f = 0; dllm__family_at(f); f++) {
        const dllm_family *family = dllm__family_at(f);
        dllm_problem problem = head(1000, 64, 8, DLLM_BF16);
        dllm_choice choice;
        const bool expected = strcmp(family->name, "cpu") == 0;
        ck_assert_msg((dllm__propose(&choice, family, &problem, &device) == DLLM_OK) == expected,
                      "%s", family->name);
        if (!expected) ck_assert_ptr_nonnull(strstr(dllm_last_error(), "needs a GPU"));
    }
}
END_TEST

START_TEST(every_problem_has_a_family)
{
    const dllm_device device = typical(archs[_i]);
    for (int64_t depth = 1; depth < 5000; depth = depth * 2 + 1)
        for (int type = DLLM_BF16; type <= DLLM_FP32; type++)
            for (int64_t rows = 0; rows <= 16384; rows = rows * 2 + 1) {
                dllm_problem problem = head(129, depth, rows, (dllm_type)type);
                dllm_choice choice;
                char why[192];
                ck_assert_msg(dllm__choose(&choice, why, &problem, &device) == DLLM_OK, "%s",
                              dllm_last_error());
                problem.weight_type = DLLM_FP16;
                ck_assert_msg(dllm__choose(&choice, why, &problem, &device) == DLLM_OK, "%s",
                              dllm_last_error());
            }
}
END_TEST

START_TEST(shipped_kernels_are_listed_once)
{
    static dllm_kernel_list list;
    const dllm_kernel_spec *specs = list.specs;
    dllm__shipped_kernels(&list, archs[_i]);
    ck_assert_int_gt(list.count, 10);
    ck_assert_int_lt(list.count, DLLM_SHIPPED_MAX);
    for (int i = 0; i < list.count; i++) {
        ck_assert_str_eq(specs[i].arch, archs[_i]);
        for (int j = 0; j < i; j++)
            ck_assert_msg(!dllm__kernel_spec_equal(&specs[i], &specs[j]), "%s twice",
                          specs[i].file);
    }
}
END_TEST

/* What the tools and the README ask for must be among what prebuild compiles. */
START_TEST(prebuilt_combines_serve_any_set_of_outputs)
{
    static dllm_kernel_list list;
    static const uint32_t asked[] = {DLLM_OUT_ARGMAX, DLLM_OUT_MAX | DLLM_OUT_FLAGS,
                                     DLLM_OUT_ARGMAX | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS,
                                     DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE};
    static const dllm_head_shape shape = {
        .vocab = 4096, .depth = 256, .hidden_type = DLLM_BF16, .weight_type = DLLM_BF16};
    const dllm_device device = typical(archs[_i]);
    list.count = 0;
    dllm__head_kernels(&list, &device, &shape);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        dllm_problem problem = head(4096, 256, 8, DLLM_BF16);
        dllm_kernel_spec wanted;
        bool found = false;
        problem.outputs = asked[i];
        dllm__combine_spec(&wanted, &problem);
        memcpy(wanted.arch, device.arch, sizeof wanted.arch);
        for (int k = 0; k < list.count && !found; k++)
            found = dllm__kernel_spec_equal(&list.specs[k], &wanted);
        ck_assert_msg(found, "outputs 0x%x", asked[i]);
    }
}
END_TEST

static bool is_listed(const dllm_kernel_list *list, const dllm_kernel_spec *wanted)
{
    for (int i = 0; i < list->count; i++)
        if (dllm__kernel_spec_equal(&list->specs[i], wanted)) return true;
    return false;
}

/* The kernels that prepare would take for so many rows. */
static void check_listed(const dllm_kernel_list *list, const dllm_device *device,
                         const dllm_head_set *set, const dllm_problem *problem)
{
    dllm_kernel_spec specs[DLLM_PLAN_KERNELS_MAX];
    dllm_choice choice;
    char why[192];
    ck_assert_int_eq(dllm__choose(&choice, why, problem, device), DLLM_OK);
    const int count = choice.family->kernels(problem, &choice, specs);
    for (int i = 0; i < count; i++) {
        memcpy(specs[i].arch, device->arch, sizeof specs[i].arch);
        ck_assert_msg(is_listed(list, &specs[i]), "%s, %lld rows, %d multiprocessors: %s of %s",
                      set->set, (long long)problem->rows_max, device->multiprocessors,
                      specs[i].file, choice.family->name);
    }
}

/* A pack made without a GPU serves devices of the architecture with fewer and more multiprocessors than
   the typical one, for any row count. */
START_TEST(prebuilt_kernels_serve_any_row_count)
{
    static dllm_kernel_list list;
    static const int multiprocessors[] = {0, 78, 114, 160}; /* 0: as many as are typical */
    const dllm_device usual = typical(archs[_i]);
    int count = 0;
    const dllm_head_set *sets = dllm__head_sets(&count);
    for (int s = 0; s < count; s++) {
        const dllm_head_set *set = &sets[s];
        const dllm_head_shape shape = {set->vocab,       set->depth, set->weight_type,
                                       set->weight_type, set->scale, set->softcap};
        list.count = 0;
        dllm__head_kernels(&list, &usual, &shape);
        for (size_t m = 0; m < sizeof multiprocessors / sizeof multiprocessors[0]; m++)
            for (int64_t rows = 1; rows <= 16384; rows += 1 + rows / 64 * 7) {
                dllm_problem problem = head(set->vocab, set->depth, rows, set->weight_type);
                dllm_device device = usual;
                if (multiprocessors[m]) device.multiprocessors = multiprocessors[m];
                problem.scale = set->scale;
                problem.softcap = set->softcap;
                check_listed(&list, &device, set, &problem);
                problem.inputs = DLLM_IN_ROW_INDEX;
                check_listed(&list, &device, set, &problem);
            }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("families");
    TCase *group = tcase_create("choice");
    tcase_add_loop_test(group, proposals_are_legal_and_cover_the_vocabulary, 0, ARCHS);
    tcase_add_loop_test(group, workspace_of_every_head_is_bounded, 0, ARCHS);
    tcase_add_test(group, cublas_is_opened_only_where_it_would_be_taken);
    tcase_add_test(group, hopper_takes_sm90_where_it_can);
    tcase_add_loop_test(group, batch_invariant_choices_do_not_follow_from_the_rows, 0,
                        FAMILIES_MAX);
    tcase_add_test(group, a_cpu_takes_its_own_families_alone);
    tcase_add_loop_test(group, every_problem_has_a_family, 0, ARCHS);
    tcase_add_test(group, a_family_asked_for_is_taken_or_refused_with_its_reason);
    tcase_add_loop_test(group, guidance_is_taken_where_the_head_is, 0, ARCHS);
    tcase_add_loop_test(group, refuses_what_a_family_does_not_implement, 0, 5);
    tcase_add_loop_test(group, shipped_kernels_are_listed_once, 0, ARCHS);
    tcase_add_loop_test(group, prebuilt_combines_serve_any_set_of_outputs, 0, ARCHS);
    tcase_add_loop_test(group, prebuilt_kernels_serve_any_row_count, 0, ARCHS);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
