/* test_model.c - finds the tensors of the layout; says which field or tensor is wrong, and how */
#include "check_suite.h"
#include "model.h"
#include "scratch.h"
#include "tensor_fixture.h"

#include <string.h>

static char folder[SCRATCH_BYTES];
static dllm_model *model;
static dllm_message message;

static void make_folder(void)
{
    scratch_make(folder);
    model = NULL;
    message.text[0] = '\0';
}

static void remove_folder(void)
{
    dllm_model_close(model);
    scratch_remove(folder);
}

static bool open_tiny(const tiny_model *tiny)
{
    tiny_model_write(folder, tiny);
    return dllm_model_open(&model, folder, &message);
}

/* ---- what is opened -------------------------------------------------------------------------- */

static const tiny_model sound[] = {
    {.type = DLLM_TENSOR_BF16},
    {.type = DLLM_TENSOR_FP16},
    {.type = DLLM_TENSOR_FP32},
    {.config = ", \"n_kv_heads\": 2"},
};

START_TEST(opens_type)
{
    ck_assert_msg(open_tiny(&sound[_i]), "%s", message.text);
    ck_assert_int_eq(model->head->type, sound[_i].type);
    ck_assert_int_eq(model->config.mask_id, TINY_VOCAB - 1);
    ck_assert_int_eq(model->blocks[TINY_LAYERS - 1].tensor[DLLM_BLOCK_UP_PROJ]->shape[0], TINY_MLP);
}
END_TEST

START_TEST(ties_absent_head_to_embedding)
{
    const tiny_model tied = {.omitted = "model.transformer.ff_out.weight",
                             .config = ", \"weight_tying\": true"};
    ck_assert_msg(open_tiny(&tied), "%s", message.text);
    ck_assert_ptr_eq(model->head, model->embedding);
}
END_TEST

START_TEST(prefers_head_that_is_there)
{
    const tiny_model tied = {.config = ", \"weight_tying\": true"};
    ck_assert_msg(open_tiny(&tied), "%s", message.text);
    ck_assert_ptr_ne(model->head, model->embedding);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

static const struct {
    tiny_model tiny;
    const char *message;
} refused[] = {
    {{.omitted = "model.transformer.ff_out.weight"},
     "tensor model.transformer.ff_out.weight is missing, wanted with shape [11, 8]"},
    {{.omitted = "model.transformer.blocks.1.k_proj.weight"},
     "tensor model.transformer.blocks.1.k_proj.weight is missing, wanted with shape [8, 8]"},
    {{.misshapen = "model.transformer.blocks.0.up_proj.weight"},
     "tensor model.transformer.blocks.0.up_proj.weight has shape [6, 16], wanted [6, 8]"},
    {{.misshapen = "model.transformer.ln_f.weight"},
     "tensor model.transformer.ln_f.weight has shape [16], wanted [8]"},
    {{.extra = "model.transformer.blocks.0.q_proj.bias"},
     "model.safetensors has 22 tensors, the layout of 2 layers has 21: biases and further norms "
     "are not built"},
    {{.type = DLLM_TENSOR_FP64},
     "tensor model.transformer.wte.weight has type F64, wanted BF16, F16 or F32"},
    {{.mask_id = TINY_VOCAB}, "config.json: mask_token_id 11 is outside 0 .. 10"},
    {{.config = ", \"n_kv_heads\": 1"},
     "config.json: n_kv_heads 1 differs from n_heads 2, grouped attention is not built"},
};

START_TEST(refuses_model)
{
    ck_assert(!open_tiny(&refused[_i].tiny));
    ck_assert_str_eq(message.text, refused[_i].message);
}
END_TEST

static const struct {
    const char *config;
    const char *reason;
} configs[] = {
    {"{", "config.json: "},
    {"{}", "config.json: vocab_size is missing or no integer"},
    {"{\"vocab_size\": 1.5}", "config.json: vocab_size is missing or no integer"},
    {"{\"vocab_size\": 1}", "config.json: vocab_size 1 is outside 2 .. 2147483647"},
    {"{\"vocab_size\": 9, \"d_model\": 0}", "config.json: d_model 0 is outside"},
    {"{\"vocab_size\": 9, \"d_model\": 6, \"n_layers\": 1, \"n_heads\": 2,"
     " \"mlp_hidden_size\": 4, \"max_sequence_length\": 8, \"mask_token_id\": 8,"
     " \"rope_theta\": 1e4, \"rms_norm_eps\": 1e-5}",
     "config.json: n_heads 2 does not cut d_model 6 into an even number"},
    {"{\"vocab_size\": 9, \"d_model\": 8, \"n_layers\": 1, \"n_heads\": 2,"
     " \"mlp_hidden_size\": 4, \"max_sequence_length\": 8, \"mask_token_id\": 8,"
     " \"rope_theta\": 0, \"rms_norm_eps\": 1e-5}",
     "config.json: rope_theta is missing or not above 0"},
};

START_TEST(refuses_config)
{
    scratch_write(folder, "config.json", configs[_i].config);
    ck_assert(!dllm_model_open(&model, folder, &message));
    ck_assert_msg(strstr(message.text, configs[_i].reason), "%s", message.text);
}
END_TEST

START_TEST(refuses_folder_without_files)
{
    ck_assert(!dllm_model_open(&model, folder, &message));
    ck_assert_msg(strstr(message.text, "config.json cannot be opened: No such file"), "%s",
                  message.text);
    scratch_write(folder, "config.json",
                  "{\"vocab_size\": 9, \"d_model\": 8, \"n_layers\": 1, \"n_heads\": 2,"
                  " \"mlp_hidden_size\": 4, \"max_sequence_length\": 8, \"mask_token_id\": 8,"
                  " \"rope_theta\": 1e4, \"rms_norm_eps\": 1e-5}");
    ck_assert(!dllm_model_open(&model, folder, &message));
    ck_assert_msg(strstr(message.text, "model.safetensors cannot be opened"), "%s", message.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model");
    TCase *opened = tcase_create("opened");
    tcase_add_checked_fixture(opened, make_folder, remove_folder);
    tcase_add_loop_test(opened, opens_type, 0, (int)(sizeof sound / sizeof sound[0]));
    tcase_add_test(opened, ties_absent_head_to_embedding);
    tcase_add_test(opened, prefers_head_that_is_there);
    suite_add_tcase(suite, opened);
    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, make_folder, remove_folder);
    tcase_add_loop_test(refusals, refuses_model, 0, (int)(sizeof refused / sizeof refused[0]));
    tcase_add_loop_test(refusals, refuses_config, 0, (int)(sizeof configs / sizeof configs[0]));
    tcase_add_test(refusals, refuses_folder_without_files);
    suite_add_tcase(suite, refusals);
    return check_suite_run(suite);
}
