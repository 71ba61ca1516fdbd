/*
 * tune_help.h - the texts of --help
 */
#ifndef TUNE_HELP_H
#define TUNE_HELP_H

extern const char tune_doctor_help[];
extern const char tune_prebuild_help[];
extern const char tune_tune_help[];
extern const char tune_merge_help[];
extern const char tune_export_help[];
extern const char tune_import_help[];
extern const char tune_list_help[];
extern const char tune_show_help[];
extern const char tune_stat_help[];
extern const char tune_trim_help[];
extern const char tune_clear_help[];
extern const char tune_capture_help[];
extern const char tune_verify_help[];
extern const char tune_general_help[];

#endif
