/* known_words.h - a word or a field's name of a case file against those that are known */
#ifndef KNOWN_WORDS_H
#define KNOWN_WORDS_H

#include "message.h"

#include <jansson.h>

/** Place of a word in a list that ends with NULL; -1: it is none of them. */
int known_word(const char *word, const char *const *words);

/** False with `what`, the word and, if they are few, the words of the list. */
bool known_word_check(const char *what, const char *word, const char *const *words,
                      dllm_message *why);

/** False if it is no object, or the first of its fields that is none of the names in the message. */
bool known_fields_check(const json_t *object, const char *const *names, dllm_message *why);

#endif
