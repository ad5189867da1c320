/* rules.h - fusion: a constant table of rewrite rules, applied until none fires. */
#ifndef BI_RULES_H
#define BI_RULES_H

#include "graph.h"

enum { BI_RULE_MAX = 48 };

struct bi_rule_trace {
    int fired[BI_RULE_MAX]; /* by index in the table */
    struct bi_buf *text;    /* one line per firing; may be NULL */
};

/* Name of rule `index`, NULL past the end. */
const char *bi_rule_name(int index);
/* Applies the rules. `skip`: names separated by commas, or "all"; NULL = none; an unknown
 * name is BIOINFER_INVALID. The graph is verified after every pass; dead code is removed. */
int bi_rules_apply(struct bi_graph *g, const char *skip, struct bi_rule_trace *trace,
                   struct bioinfer_error *err);

#endif
