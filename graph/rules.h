/* rules.h - rewrites of graphs: the rows of rules/rules.inc, applied until none fires. */
#ifndef BI_RULES_H
#define BI_RULES_H

#include "graph.h"

enum bi_rule_phase {
    BI_RULE_FUSE,  /* on plain and fused ops, all in float32 */
    BI_RULE_LOWER, /* before bi_graph_lower() says what is float16 */
    BI_RULE_TARGET /* behind it, where types are known */
};

/* Traits of a target that rules ask for; bits. */
enum bi_target_trait {
    BI_TARGET_CPU = 1,
    BI_TARGET_GPU = 2,
    BI_TARGET_ROTATES = 4, /* half: linear can rotate what attention reads (kernels/linear.h), and
                            * attention cannot do it itself */
    BI_TARGET_FOLLOWS = 8, /* half: linear can do what follows between convolutions */
    BI_TARGET_MATRIX = 16  /* matrix units take operands of type bi_target.operands */
};

struct bi_launch;

/* The device that a graph is rewritten for, as far as rules ask. */
struct bi_target {
    uint32_t traits;        /* bits of enum bi_target_trait */
    enum bi_dtype operands; /* type of what products read: float16 where the graph is lowered */
    int32_t gate_block;     /* rows of a block of gates (kernels/linear.h); 0 = stacked */
    /* Has the device a kernel for a launch, whose addresses are made up but aligned as the real
     * ones? NULL = for all of them. */
    bool (*takes)(const void *device, const struct bi_launch *launch);
    const void *device;
};

/* Has the target, NULL = any, a kernel for a node of the graph, as its values are typed now? True
 * for views, which need none. */
bool bi_target_takes(const struct bi_target *target, const struct bi_graph *g,
                     const struct bi_node *node);
/* The same of all live nodes from number `first` on, true where there are none; if one has no
 * kernel, all of them are killed (bi_graph_kill()), and false is given. */
bool bi_target_takes_new(const struct bi_target *target, struct bi_graph *g, size_t first);

enum { BI_RULE_MAX = 64 };

/* How often rules fired; the caller zeroes it. A trace may be NULL below: nobody counts. */
struct bi_rule_trace {
    int fired[BI_RULE_MAX]; /* by index in the table */
    struct bi_buf *text;    /* one line per firing of a pattern; may be NULL */
};

/* Name of rule `index`, NULL past the end and where it is negative. */
const char *bi_rule_name(int index);
/* When rule `index` is applied; index is that of a rule. */
enum bi_rule_phase bi_rule_phase(int index);
/* Rewrites a graph for a target: fusion, and where its operands are float16 what goes before
 * bi_graph_lower(), that, and what goes behind it. target NULL = fusion alone, for any target.
 * `skip`: names of rules separated by commas, or "all"; NULL and empty names = none; an unknown
 * name is BIOINFER_INVALID, and the graph is as it was. The graph is verified before and after
 * every step, whose statuses are given; dead code is removed. After another failure it is to be
 * freed. */
int bi_rules_apply(struct bi_graph *g, const struct bi_target *target, const char *skip,
                   struct bi_rule_trace *trace, struct bioinfer_error *err);
/* Applies the rules of one phase: patterns until none fires, then each pass once. Statuses are
 * those of bi_rules_apply(); after a failure the graph is to be freed. */
int bi_rules_phase(struct bi_graph *g, enum bi_rule_phase phase, const struct bi_target *target,
                   const char *skip, struct bi_rule_trace *trace, struct bioinfer_error *err);

#endif
