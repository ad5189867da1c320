/* rule.h - what a rule is: a row of rules.inc, with a pattern and a rewrite, or with a pass.
 *
 * A pattern is constant data: an op with patterns for its inputs, or a name that captures a value.
 * The matcher (graph/rules.c) alone knows that an inner value needs a single use, else it would be
 * computed twice, that ADD commutes, and that one name captures one value. A rewrite builds the new
 * nodes and gives the value that takes the place of the root's first output; it is taken back where
 * the target has no kernel for a node that it made. A pass rewrites what a
 * pattern cannot say. No rule knows a device: a row says which traits of a target it needs. */
#ifndef BI_RULE_H
#define BI_RULE_H

#include "../rules.h"

enum { BI_PATTERN_VALUE = -1, BI_PATTERN_ANY = -2 }; /* ops of patterns that are no op */

enum bi_pattern_flags {
    BI_PATTERN_SHARED = 1,  /* the value may have other uses: it is cheap, or replaced everywhere */
    BI_PATTERN_OPTIONAL = 2 /* a value that may be left out */
};

/* A pattern of one node, or of any value. */
struct bi_pattern {
    int op; /* enum bi_op_kind, PATTERN_VALUE, or PATTERN_ANY: whatever is there, or nothing */
    const char *as; /* the name that captures the value, or the node; NULL = no name */
    unsigned flags; /* enum bi_pattern_flags */
    const struct bi_pattern *in[BI_NODE_IN];
};

/* clang-format off */
#define ANY &(const struct bi_pattern){.op = BI_PATTERN_ANY}
#define VALUE(name) &(const struct bi_pattern){.op = BI_PATTERN_VALUE, .as = name}
#define MAYBE(name) \
    &(const struct bi_pattern){.op = BI_PATTERN_VALUE, .as = name, .flags = BI_PATTERN_OPTIONAL}
#define NODE(kind, name, ...) \
    &(const struct bi_pattern){.op = BI_OP_##kind, .as = name, .in = {__VA_ARGS__}}
#define SHARED(kind, name, ...) \
    &(const struct bi_pattern){.op = BI_OP_##kind, .as = name, .flags = BI_PATTERN_SHARED, \
                               .in = {__VA_ARGS__}}
/* clang-format on */

enum { BI_MATCH_VALUES = 16, BI_MATCH_NODES = 8, BI_MATCH_REPLACED = 4 };

/* A place of a graph that a pattern matches, with what its names captured. */
struct bi_match {
    struct bi_graph *g;
    const struct bi_node *root;
    struct {
        const char *as;
        bi_value_id id;
    } values[BI_MATCH_VALUES];
    struct {
        const char *as;
        const struct bi_node *node;
    } nodes[BI_MATCH_NODES];
    struct {
        bi_value_id from, to;
    } replaced[BI_MATCH_REPLACED];
    int n_values, n_nodes, n_replaced;
};

/* The captured value; BI_NONE = it is left out. A name that the pattern does not have fails the
 * graph with INTERNAL, unless it has failed before, and gives BI_NONE. */
bi_value_id bi_match_value(const struct bi_match *m, const char *as);
/* The captured node, which stays as it was matched while a rewrite adds others. A name that the
 * pattern does not have fails the graph with INTERNAL, and gives the root. Never NULL. */
const struct bi_node *bi_match_node(const struct bi_match *m, const char *as);
/* Says in a rewrite that `to` also takes the place of `from`, another value than the root's first
 * output; it does when the rule fires. Nothing where either is BI_NONE, as the graph has failed.
 * More than BI_MATCH_REPLACED of them fail the graph with INTERNAL. */
void bi_match_replace(struct bi_match *m, bi_value_id from, bi_value_id to);

/* A row of rules.inc. */
struct bi_rule {
    const char *name;
    enum bi_rule_phase phase;
    uint32_t needs;  /* traits of a target without which the rule does not fire */
    uint32_t not_on; /* traits of targets that are better without it */
    const struct bi_pattern *pattern;
    bool (*guard)(const struct bi_match *m); /* NULL = always */
    bi_value_id (*rewrite)(struct bi_match *m);
    /* In place of a pattern: rewrites the whole graph, whose uses are counted, and adds to *fired.
     * Errors stay in the graph. The caller removes dead nodes, sorts and verifies. */
    void (*pass)(struct bi_graph *g, const struct bi_target *target, int *fired);
};

#define RULE(name) extern const struct bi_rule bi_rule_##name;
#include "rules.inc"
#undef RULE

/* ---- helpers of rewrites and passes (rules.c) ---- */

/* Adds a node; attrs: BI_ATTRS(), NULL = all zeros. */
#define NEW(g, op, attrs, ...)                                                                     \
    bi_node_add(g, op, (const bi_value_id[]){__VA_ARGS__},                                         \
                (int)(sizeof((const bi_value_id[]){__VA_ARGS__}) / sizeof(bi_value_id)), attrs)

/* The node that makes a value; NULL = none does: it is an input, a weight or BI_NONE. The pointer
 * is good until a node is added. */
struct bi_node *bi_rule_producer(const struct bi_graph *g, bi_value_id id);
/* Is the value an output of the graph? A view cannot be one, and nor can BI_NONE. */
bool bi_rule_is_output(const struct bi_graph *g, bi_value_id id);
/* Is it a weight of the model: not several, nor some rows of one, nor a transposed one? id must be
 * a value, not BI_NONE. */
bool bi_rule_is_one_weight(const struct bi_graph *g, bi_value_id id);

#endif
