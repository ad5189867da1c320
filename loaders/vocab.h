/* vocab.h - the pieces of a tokenizer by id, from the files that hold them. */
#ifndef BI_VOCAB_H
#define BI_VOCAB_H

#include "json.h"

enum { BI_MAX_PIECES = 1 << 20, BI_MAX_PIECE = 1024 };

/* Pieces by id, in an arena; "" where an id has none. */
struct bi_vocab {
    const char **pieces;
    size_t n, cap; /* cap: of a growing table */
};

/* A SentencePiece model (the protocol buffer of spiece.model): its pieces in order. Strict: wire
 * types, lengths and UTF-8 are checked, and every piece must have a text. FORMAT: it is no such
 * model, or has no piece; LIMIT: more than BI_MAX_PIECES, or a text longer than BI_MAX_PIECE. Texts
 * live in the arena. *out is untouched after a failure. */
int bi_vocab_spiece(struct bi_vocab *out, struct bi_arena *arena, const char *name,
                    const void *bytes, size_t size, struct bioinfer_error *err);
/* tokenizer.json: model.vocab of a Unigram (list of [piece, score]) or a WordPiece (object piece ->
 * id) model, and added_tokens, of which one replaces what has its id; *out is empty for other kinds
 * and for json NULL, which returns 0, and after a failure. FORMAT: an entry is none; LIMIT: an id
 * of BI_MAX_PIECES or more, or a text longer than BI_MAX_PIECE. */
int bi_vocab_tokenizer(struct bi_vocab *out, struct bi_arena *arena, const char *name,
                       const struct bi_json *json, struct bioinfer_error *err);
/* Puts what was added to a SentencePiece model behind its pieces: added_tokens.json (text -> id),
 * or added_tokens_decoder of tokenizer_config.json (id -> {"content": text}). json must not be
 * NULL; without added_tokens_decoder it is read as text -> id. An id that has this text already is
 * passed over. FORMAT: an id has another text already, or a member is not a token and its id;
 * LIMIT: an id of BI_MAX_PIECES or more, or a text longer than BI_MAX_PIECE. Pieces put before a
 * failure stay. */
int bi_vocab_added(struct bi_vocab *v, struct bi_arena *arena, const char *name,
                   const struct bi_json *json, struct bioinfer_error *err);

#endif
