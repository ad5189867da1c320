/* watch.h - for tests: which settings of a model's files are asked for by name.
 *
 * A test that hears of every key, and may change values before anybody asks, finds out by itself
 * whether what a family reads is part of a model's fingerprint. Nothing else uses this. */
#ifndef BI_WATCH_H
#define BI_WATCH_H

struct bi_checkpoint;
struct bi_json;

/* Functions of a test; all are set. */
struct bi_watch {
    void *user;
    /* A document of settings (config.json, model.json, adapter_config.json) has been read. Its
     * values may be changed in place. */
    void (*document)(void *user, const char *name, struct bi_json *root);
    /* A checkpoint has been opened: its own configuration may be changed in place. */
    void (*checkpoint)(void *user, struct bi_checkpoint *cp);
    /* A member of a document, or a value of a checkpoint's configuration, is asked for. */
    void (*member)(void *user, const struct bi_json *object, const char *key);
    void (*meta)(void *user, const struct bi_checkpoint *cp, const char *key);
};

/* From here on the watch hears of members of the document that are asked for; it is told of the
 * document first. Nothing where the watch is NULL. */
void bi_json_watch(struct bi_json *root, const char *name, const struct bi_watch *watch);

#endif
