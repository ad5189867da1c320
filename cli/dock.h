/* dock.h - what the files of `bioinfer dock RECEPTOR LIGANDS` share.
 *
 *   dock.c        the command: ligands in, a folder of poses out; its input is affinity_input.c
 *   dock_task.c   the task: a ligand becomes a file of poses, and rows */
#ifndef BI_CLI_DOCK_H
#define BI_CLI_DOCK_H

#include "affinity.h"
#include "run.h"

/* The first line of scores.tsv. */
#define CLI_DOCK_HEAD                                                                              \
    "id\trecord\trank\tconfidence\taffinity\tseed\tsample\tligand_atoms\tbefore\tmoved\tclashes"   \
    "\tdistance\tclosest\toverlap\tinternal\tchecks\tstatus\tmessage\n"

#endif
