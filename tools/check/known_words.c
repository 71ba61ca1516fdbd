/* known_words.c - see known_words.h */
#include "known_words.h"

#include <stdio.h>
#include <string.h>

enum { FEW = 20 };

int known_word(const char *word, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0) return i;
    return -1;
}

bool known_word_check(const char *what, const char *word, const char *const *words,
                      dllm_message *why)
{
    char list[300] = "";
    size_t used = 0;
    int count = 0;
    if (known_word(word, words) >= 0) return true;
    for (; words[count] && used < sizeof list; count++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", count ? ", " : "",
                                 words[count][0] ? words[count] : "\"\"");
    if (count > FEW) return DLLM_REFUSE(why, "%s \"%.100s\" is not known", what, word);
    return DLLM_REFUSE(why, "%s \"%.100s\" is none of %s", what, word, list);
}

bool known_fields_check(const json_t *object, const char *const *names, dllm_message *why)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object)) return DLLM_REFUSE(why, "it is no object with fields");
    json_object_foreach((json_t *)object, name, value)
    {
        if (!known_word_check("field", name, names, why)) return false;
    }
    return true;
}
