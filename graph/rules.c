/* rules.c - the matcher of patterns, and how rules are applied. The rules stand in rules/. */
#include "rules.h"

#include <string.h>

#include "../ops/op.h"
#include "rules/rule.h"

static const struct bi_rule *const rules[] = {
#define RULE(name) &bi_rule_##name,
#include "rules/rules.inc"
#undef RULE
};

_Static_assert(BI_COUNT(rules) <= BI_RULE_MAX, "enlarge BI_RULE_MAX");

/* ---- the matcher ---- */

static bool same_name(const char *a, const char *b)
{
    return a == b || !strcmp(a, b);
}

bi_value_id bi_match_value(const struct bi_match *m, const char *as)
{
    for (int i = 0; i < m->n_values; i++)
        if (same_name(m->values[i].as, as))
            return m->values[i].id;
    return bi_graph_fail(m->g, BIOINFER_INTERNAL, "a rule has no value called %s", as);
}

const struct bi_node *bi_match_node(const struct bi_match *m, const char *as)
{
    for (int i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].as && same_name(m->nodes[i].as, as))
            return m->nodes[i].node;
    bi_graph_fail(m->g, BIOINFER_INTERNAL, "a rule has no node called %s", as);
    return m->root;
}

static bool match_value(const struct bi_pattern *p, bi_value_id id, struct bi_match *m);

/* Captures a value; false when the name holds another one, or the match is full. */
static bool capture(struct bi_match *m, const struct bi_pattern *p, bi_value_id id)
{
    for (int i = 0; i < m->n_values; i++)
        if (same_name(m->values[i].as, p->as))
            return m->values[i].id == id;
    if ((id == BI_NONE && !(p->flags & BI_PATTERN_OPTIONAL)) || m->n_values == BI_MATCH_VALUES)
        return false;
    m->values[m->n_values].as = p->as;
    m->values[m->n_values++].id = id;
    return true;
}

/* Matches the inputs of a node; `swap`: 0 and 1 in the other order. */
static bool match_inputs(const struct bi_pattern *p, const struct bi_node *node, struct bi_match *m,
                         bool swap)
{
    for (int i = 0; i < bi_op_n_in((enum bi_op_kind)p->op); i++) {
        const int at = swap && i < 2 ? 1 - i : i;
        if (p->in[i] ? !match_value(p->in[i], node->in[at], m) : node->in[at] != BI_NONE)
            return false;
    }
    return true;
}

/* Matches a live node; ADD with its operands in either order. */
static bool match_node(const struct bi_pattern *p, const struct bi_node *node, struct bi_match *m)
{
    struct bi_match saved;
    if ((int)node->op != p->op || node->dead || m->n_nodes == BI_MATCH_NODES)
        return false;
    m->nodes[m->n_nodes].as = p->as;
    m->nodes[m->n_nodes++].node = node;
    saved = *m;
    if (match_inputs(p, node, m, false))
        return true;
    *m = saved;
    return p->op == BI_OP_ADD && match_inputs(p, node, m, true);
}

static bool match_value(const struct bi_pattern *p, bi_value_id id, struct bi_match *m)
{
    const struct bi_value *v;
    if (p->op == BI_PATTERN_ANY)
        return true;
    if (p->op == BI_PATTERN_VALUE)
        return capture(m, p, id);
    if (id == BI_NONE)
        return false;
    v = &m->g->values[id];
    if (v->kind != BI_VALUE_NODE || v->slot || (v->n_uses != 1 && !(p->flags & BI_PATTERN_SHARED)))
        return false;
    return match_node(p, &m->g->nodes[v->node], m);
}

/* ---- application ---- */

const char *bi_rule_name(int index)
{
    return index >= 0 && index < (int)BI_COUNT(rules) ? rules[index]->name : NULL;
}

enum bi_rule_phase bi_rule_phase(int index)
{
    return rules[index]->phase;
}

/* Sets off[] of the rules that are not of the phase, not for the target, or named by `skip`. */
static int choose(enum bi_rule_phase phase, const struct bi_target *target, const char *skip,
                  bool *off, struct bioinfer_error *err)
{
    const uint32_t traits = target ? target->traits : 0;
    for (size_t i = 0; i < BI_COUNT(rules); i++)
        off[i] = rules[i]->phase != phase || (rules[i]->needs & ~traits) ||
                 (rules[i]->not_on & traits);
    while (skip && *skip) {
        const size_t n = strcspn(skip, ",");
        bool known = n == 0;
        for (size_t i = 0; i < BI_COUNT(rules); i++)
            if ((n == 3 && !memcmp(skip, "all", 3)) ||
                (strlen(rules[i]->name) == n && !memcmp(skip, rules[i]->name, n)))
                known = off[i] = true;
        if (!known)
            return bi_fail(err, BIOINFER_INVALID, "no fusion rule is called '%.*s'", (int)n, skip);
        skip += n + (skip[n] == ',');
    }
    return 0;
}

/* Rewrites what a match found, whose nodes it keeps: new nodes may move the array they are in. */
static bi_value_id rewrite(const struct bi_rule *rule, struct bi_match *m)
{
    struct bi_node kept[BI_MATCH_NODES];
    for (int k = 0; k < m->n_nodes; k++) {
        kept[k] = *m->nodes[k].node;
        m->nodes[k].node = &kept[k];
    }
    m->root = &kept[0];
    m->g->phase = kept[0].phase;
    return rule->rewrite(m);
}

void bi_match_replace(struct bi_match *m, bi_value_id from, bi_value_id to)
{
    if (from == BI_NONE || to == BI_NONE)
        return; /* the graph has an error */
    if (m->n_replaced == BI_MATCH_REPLACED) {
        bi_graph_fail(m->g, BIOINFER_INTERNAL, "a rule replaces more than %d values",
                      BI_MATCH_REPLACED);
        return;
    }
    m->replaced[m->n_replaced].from = from;
    m->replaced[m->n_replaced++].to = to;
}

/* Tries rule r on node i; true when it fired. Where the target has no kernel for what it makes,
 * that is taken back. Errors stay in the graph. */
static bool try_rule(struct bi_graph *g, const struct bi_target *target, size_t r, size_t i,
                     struct bi_rule_trace *trace)
{
    const size_t n_nodes = g->n_nodes;
    const enum bi_op_kind op = g->nodes[i].op;
    struct bi_match m;
    bi_value_id from, to;
    if ((int)op != rules[r]->pattern->op)
        return false;
    m = (struct bi_match){.g = g, .root = &g->nodes[i]};
    if (!match_node(rules[r]->pattern, m.root, &m) || (rules[r]->guard && !rules[r]->guard(&m)) ||
        g->status)
        return false;
    from = g->nodes[i].out[0];
    to = rewrite(rules[r], &m);
    if (g->status || !bi_target_takes_new(target, g, n_nodes))
        return false;
    for (int k = 0; k < m.n_replaced; k++)
        bi_graph_replace(g, m.replaced[k].from, m.replaced[k].to);
    bi_graph_replace(g, from, to);
    bi_graph_kill(g, i);
    if (trace) {
        trace->fired[r]++;
        if (trace->text)
            bi_buf_printf(trace->text, "%s: %s at node %zu\n", rules[r]->name, bi_ops[op]->name, i);
    }
    return true;
}

/* Tries the patterns on every node that is there now, first node first; returns firings. */
static int run_patterns(struct bi_graph *g, const struct bi_target *target, const bool *off,
                        struct bi_rule_trace *trace)
{
    const size_t n_nodes = g->n_nodes; /* new nodes wait for the next round */
    int fired = 0;
    for (size_t i = 0; i < n_nodes && !g->status; i++) {
        if (g->nodes[i].dead || !g->values[g->nodes[i].out[0]].n_uses)
            continue;
        for (size_t r = 0; r < BI_COUNT(rules) && !g->status; r++)
            if (!off[r] && rules[r]->pattern && try_rule(g, target, r, i, trace)) {
                fired++;
                break;
            }
    }
    return fired;
}

/* Removes what is dead, and brings the rest in order. */
static int settle(struct bi_graph *g, struct bioinfer_error *err)
{
    int st = bi_graph_status(g, err);
    if (st)
        return st;
    bi_graph_dce(g);
    if ((st = bi_graph_sort(g, err)) || (st = bi_graph_verify(g, err)))
        return st;
    bi_graph_count_uses(g);
    return 0;
}

int bi_rules_phase(struct bi_graph *g, enum bi_rule_phase phase, const struct bi_target *target,
                   const char *skip, struct bi_rule_trace *trace, struct bioinfer_error *err)
{
    bool off[BI_COUNT(rules)] = {false};
    int fired = 1, st = choose(phase, target, skip, off, err);
    if (st || (st = bi_graph_verify(g, err)))
        return st;
    while (!st && fired) {
        bi_graph_index(g);
        fired = run_patterns(g, target, off, trace);
        st = settle(g, err);
    }
    for (size_t r = 0; !st && r < BI_COUNT(rules); r++) {
        if (off[r] || !rules[r]->pass)
            continue;
        fired = 0;
        rules[r]->pass(g, target, &fired);
        if (trace)
            trace->fired[r] += fired;
        st = settle(g, err);
    }
    return st;
}

int bi_rules_apply(struct bi_graph *g, const struct bi_target *target, const char *skip,
                   struct bi_rule_trace *trace, struct bioinfer_error *err)
{
    int st = bi_rules_phase(g, BI_RULE_FUSE, target, skip, trace, err);
    if (st || !target || target->operands != BI_F16)
        return st;
    if ((st = bi_rules_phase(g, BI_RULE_LOWER, target, skip, trace, err)) ||
        (st = bi_graph_lower(g, target, err)))
        return st;
    return bi_rules_phase(g, BI_RULE_TARGET, target, skip, trace, err);
}

/* ---- helpers of rewrites and passes ---- */

struct bi_node *bi_rule_producer(const struct bi_graph *g, bi_value_id id)
{
    const struct bi_value *v = id == BI_NONE ? NULL : &g->values[id];
    return v && v->kind == BI_VALUE_NODE ? &g->nodes[v->node] : NULL;
}

bool bi_rule_is_output(const struct bi_graph *g, bi_value_id id)
{
    for (size_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].value == id)
            return true;
    return false;
}

bool bi_rule_is_one_weight(const struct bi_graph *g, bi_value_id id)
{
    const struct bi_value *w = &g->values[id];
    return w->kind == BI_VALUE_WEIGHT && w->n_parts == 1 && !w->rows && !w->transposed;
}
